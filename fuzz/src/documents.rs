//! Eureka's documents: whatever is let in can be written in every form, and what was written in full reads back as it
//! was.

use eurekad_wire::encode::{self, ApplicationsWriter};
use eurekad_wire::{
    Application, Applications, DecodeError, Form, Format, InstanceInfo, ReplicationList,
    ReplicationListResponse, Shown, decode,
};

use super::well_formed::assert_well_formed;

const FULL: [Form; 2] = [Form::JSON, Form::XML];
const COMPACT: [Form; 2] = [Form::JSON_COMPACT, Form::XML_COMPACT];

/// A document of one instance.
pub fn instance(format: Format, bytes: &[u8]) {
    match decode::instance(format, bytes) {
        Ok(info) => servable(info),
        Err(error) => presentable(&error),
    }
}

/// Documents of applications and of one application.
pub fn applications(format: Format, bytes: &[u8]) {
    match decode::applications(format, bytes) {
        Ok(all) => servable_together(all),
        Err(error) => presentable(&error),
    }
    match decode::application(format, bytes) {
        Ok(application) => {
            servable_together(Applications { applications: vec![application], ..Applications::default() });
        }
        Err(error) => presentable(&error),
    }
}

/// A peer's registry, of which what cannot be read is left out: the same as if it had been read whole, if it can be.
pub fn registry_copy(bytes: &[u8]) {
    match (decode::registry_copy(bytes), decode::applications(Format::Json, bytes)) {
        (Ok((copied, errors)), Ok(all)) => {
            assert_eq!(copied, all);
            assert_eq!(errors, []);
        }
        (Ok((copied, errors)), Err(_)) => {
            assert!(!errors.is_empty(), "something was wrong, and nobody says what");
            errors.iter().for_each(presentable);
            servable_together(copied);
        }
        (Err(error), whole) => {
            assert!(whole.is_err(), "read whole, and not in parts: {error}");
            presentable(&error);
        }
    }
}

/// A batch, and the answer to one.
pub fn replication_batch(bytes: &[u8]) {
    match decode::replication_list(bytes) {
        Ok(ReplicationList { items }) => {
            items.iter().filter_map(|item| item.as_ref().err()).for_each(presentable);
            let mut items: Vec<_> = items.into_iter().flatten().collect();
            items.iter_mut().filter_map(|item| item.instance_info.as_mut()).for_each(dated);
            let written = encode::replication_list(&items);
            assert_well_formed(Format::Json, &written);
            let again = decode::replication_list(&written).map(|list| list.items);
            assert_eq!(again, Ok(items.iter().cloned().map(Ok).collect()));
            items.into_iter().filter_map(|item| item.instance_info).for_each(servable);
        }
        Err(error) => presentable(&error),
    }
    match decode::replication_response(bytes) {
        Ok(mut answer) => {
            answer.responses.iter_mut().filter_map(|r| r.response_entity.as_mut()).for_each(dated);
            answered(&answer);
        }
        Err(error) => presentable(&error),
    }
}

fn answered(answer: &ReplicationListResponse) {
    for format in [Format::Json, Format::Xml] {
        assert_well_formed(format, &encode::replication_response(format, answer));
    }
    let written = encode::replication_response(Format::Json, answer);
    assert_eq!(decode::replication_response(&written).as_ref(), Ok(answer));
}

/// An instance without a timestamp is written with 0.
fn dated(info: &mut InstanceInfo) {
    info.last_dirty_timestamp.get_or_insert(0);
}

fn servable(mut info: InstanceInfo) {
    dated(&mut info);
    for form in FULL {
        let written = encode::instance(form, (&info).into());
        assert_well_formed(form.format, &written);
        assert_eq!(decode::instance(form.format, &written).as_ref(), Ok(&info), "{}", shown(&written));
    }
    for form in COMPACT {
        let written = encode::instance(form, (&info).into());
        assert_well_formed(form.format, &written);
        let read = decode::instance(form.format, &written);
        let read = read.unwrap_or_else(|e| panic!("{e} in {}", shown(&written)));
        // By these two everything is found.
        assert_eq!((&read.app, read.id()), (&info.app, info.id()), "{}", shown(&written));
    }
}

fn servable_together(mut all: Applications) {
    all.applications.iter_mut().flat_map(|app| &mut app.instances).for_each(dated);
    // A document always has one, be it empty.
    all.hash_code.get_or_insert_default();
    for form in FULL {
        let written = written(form, &all);
        assert_well_formed(form.format, &written);
        assert_eq!(decode::applications(form.format, &written).as_ref(), Ok(&all), "{}", shown(&written));
    }
    for form in COMPACT {
        let written = written(form, &all);
        assert_well_formed(form.format, &written);
        let read = decode::applications(form.format, &written);
        let read = read.unwrap_or_else(|e| panic!("{e} in {}", shown(&written)));
        assert_eq!(read.reconcile_hash_code(), all.reconcile_hash_code());
    }
    for application in &all.applications {
        for form in FULL {
            let instances = application.instances.iter().map(Shown::from);
            let written = encode::application(form, &application.name, instances);
            assert_well_formed(form.format, &written);
            let read = decode::application(form.format, &written);
            assert_eq!(read.as_ref(), Ok(application), "{}", shown(&written));
        }
    }
}

fn written(form: Form, all: &Applications) -> Vec<u8> {
    let hash_code = all.hash_code.as_deref().unwrap_or_default();
    let mut writer = ApplicationsWriter::new(form, all.version, hash_code);
    for Application { name, instances } in &all.applications {
        writer.application(name, instances.iter().map(Shown::from));
    }
    writer.finish()
}

/// An error fits into a log line and into any document.
fn presentable(error: &DecodeError) {
    const MOST: usize = 700;
    let text = error.to_string();
    assert!(text.chars().count() < MOST, "{text}");
    assert_eq!(eurekad_wire::first_unwritable(&text), None, "{text}");
}

fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
