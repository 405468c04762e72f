//! Whether a document is one, as a parser sees it that knows nothing of Eureka.

use eurekad_wire::Format;
use quick_xml::events::Event;

/// Fails unless this is a well-formed document.
pub fn assert_well_formed(format: Format, document: &[u8]) {
    let text = std::str::from_utf8(document).expect("documents are UTF-8");
    match format {
        Format::Json => {
            let read = serde_json::from_str::<serde::de::IgnoredAny>(text);
            assert!(read.is_ok(), "{read:?} in {text}");
        }
        Format::Xml => {
            assert_well_formed_xml(text);
            // What was written with an escape in JSON must have been refused or replaced too.
            assert_eq!(eurekad_wire::first_unwritable(text), None, "{text}");
        }
    }
}

fn assert_well_formed_xml(text: &str) {
    let (mut reader, mut depth, mut roots) = (quick_xml::Reader::from_str(text), 0, 0);
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e} in {text}")) {
            Event::Start(element) => {
                element.attributes().for_each(|attribute| assert!(attribute.is_ok(), "{text}"));
                roots += usize::from(depth == 0);
                depth += 1;
            }
            Event::Empty(_) => roots += usize::from(depth == 0),
            Event::End(_) => depth -= 1,
            Event::Text(piece) => {
                assert!(depth > 0 || piece.trim().is_empty(), "text beside the root: {text}");
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, roots), (0, 1), "{text}");
}
