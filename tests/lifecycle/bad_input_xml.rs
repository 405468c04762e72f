//! Registrations in XML that say what cannot be.

use eurekad_wire::Format;
use serde_json::{Value, json};

use super::bad_input::{assert_serves, good, refused, registration, unreadable};
use super::bad_input_json::TEXTS;
use crate::support::*;

const NUMBERS: [&str; 5] = ["port", "securePort", "countryId", "lastUpdatedTimestamp", "lastDirtyTimestamp"];

const OF_LEASE: [&str; 6] = [
    "renewalIntervalInSecs",
    "durationInSecs",
    "registrationTimestamp",
    "lastRenewalTimestamp",
    "evictionTimestamp",
    "serviceUpTimestamp",
];

/// A registration of `ORDERS/a` with such elements at its end, where they count.
fn with(elements: &str) -> String {
    good(Format::Xml).replace("</instance>", &format!("{elements}</instance>"))
}

/// An element.
fn of(name: &str, inner: &str) -> String {
    format!("<{name}>{inner}</{name}>")
}

async fn assert_refused_at(node: &TestNode, elements: &str, place: &str) {
    let detail = unreadable(node, Format::Xml, with(elements), elements).await;
    let rest = detail.strip_prefix(place);
    let named = rest.is_some_and(|rest| rest.starts_with(" (line ") || rest.starts_with(": "));
    assert!(named, "{elements}: {detail} does not name {place}");
}

/// Registers with such elements and returns the instance, wherever it is; fails if a document suffers.
async fn taken(elements: &str) -> Value {
    let node = TestNode::start(&[]);
    let answer = registration(&node, Format::Xml, with(elements)).send().await;
    assert_eq!(answer.status, 204, "{elements}: {}", answer.text());
    assert_serves(&node, elements).await;
    node.apps().await["application"][0]["instance"][0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_value_of_the_wrong_type_is_refused_with_its_place() {
    let node = TestNode::start(&[]);
    for nested in ["<x/>", "a<b>c</b>", "<x>1</x>2", "<![CDATA[a]]><x><y/></x>"] {
        for name in TEXTS.into_iter().chain(NUMBERS).chain([
            "status",
            "overriddenstatus",
            "overriddenStatus",
            "actionType",
            "isCoordinatingDiscoveryServer",
        ]) {
            assert_refused_at(&node, &of(name, nested), &format!("instance.{name}")).await;
        }
        let entries = of("metadata", &format!("<fine>1</fine><k>{nested}</k>"));
        assert_refused_at(&node, &entries, "instance.metadata.k").await;
        let amazon =
            of("dataCenterInfo", &format!("<name>Amazon</name><metadata><k>{nested}</k></metadata>"));
        assert_refused_at(&node, &amazon, "instance.dataCenterInfo.metadata.k").await;
    }
    for wrong in ["", "x", "1.5", "true", "1e3", "0x10", "1 2", "<x/>", "1<!-- -->.", "\u{661}"] {
        for name in NUMBERS {
            assert_refused_at(&node, &of(name, wrong), &format!("instance.{name}")).await;
        }
        for name in OF_LEASE {
            let place = format!("instance.leaseInfo.{name}");
            assert_refused_at(&node, &of("leaseInfo", &of(name, wrong)), &place).await;
        }
    }
    for name in ["Elsewhere", "myown", ""] {
        let place = of("dataCenterInfo", &of("name", name));
        assert_refused_at(&node, &place, "instance.dataCenterInfo.name").await;
    }
    for nameless in ["MyOwn", "", "<x/>"] {
        let call = registration(&node, Format::Xml, with(&of("dataCenterInfo", nameless)));
        assert_eq!(refused(&node, call, 400, nameless).await.text(), "Missing dataCenterInfo Name");
    }
}

#[tokio::test(start_paused = true)]
async fn what_clients_are_known_to_confuse_is_taken() {
    for (elements, field, read) in [
        ("<status>up</status>", "status", json!("UP")),
        ("<status>SLEEPING</status>", "status", json!("UNKNOWN")),
        ("<status/>", "status", json!("UNKNOWN")),
        ("<port>\n  9090\n</port>", "port", json!({"$": 9090, "@enabled": "true"})),
        ("<port enabled=\"maybe\">9090</port>", "port", json!({"$": 9090, "@enabled": "true"})),
        ("<securePort enabled='true'>1</securePort>", "securePort", json!({"$": 1, "@enabled": "true"})),
        (
            "<isCoordinatingDiscoveryServer>x</isCoordinatingDiscoveryServer>",
            "isCoordinatingDiscoveryServer",
            json!("false"),
        ),
        ("<actionType>REMOVED</actionType>", "actionType", json!("ADDED")),
        ("<metadata>text</metadata>", "metadata", json!({"@class": "java.util.Collections$EmptyMap"})),
        ("<hostName>a<![CDATA[<&>]]>b</hostName>", "hostName", json!("a<&>b")),
        ("<unknown a=\"1\"><x>y</x>z</unknown><hostName>h</hostName>", "hostName", json!("h")),
        ("<hostName>a</hostName><hostName>b</hostName>", "hostName", json!("b")),
        ("<metadata><a>1</a></metadata><metadata><b>2</b><b>3</b></metadata>", "metadata", json!({"b": "3"})),
        ("<overriddenstatus>DOWN</overriddenstatus>", "overriddenStatus", json!("DOWN")),
        ("<!-- c --><?pi x?><countryId>7</countryId>", "countryId", json!(7)),
        ("<hostName xmlns:a=\"urn:a\" a:b=\"c\">h</hostName>", "hostName", json!("h")),
    ] {
        assert_eq!(taken(elements).await[field], read, "{elements}");
    }
    for name in TEXTS.into_iter().filter(|n| *n != "app") {
        taken(&of(name, "&lt;&amp;&gt;&quot;&apos; \u{1F980} ü")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_lacks_what_eureka_asks_for_is_refused_in_its_words() {
    let node = TestNode::start(&[]);
    let xml = good(Format::Xml);
    for (element, sentence) in [
        ("<hostName>n1.test</hostName>", "Missing hostname"),
        ("<ipAddr>10.9.0.1</ipAddr>", "Missing ip address"),
        ("<dataCenterInfo><name>MyOwn</name></dataCenterInfo>", "Missing dataCenterInfo"),
    ] {
        let call = registration(&node, Format::Xml, xml.replace(element, ""));
        assert_eq!(refused(&node, call, 400, sentence).await.text(), sentence);
        let name = element[1..].split('>').next().unwrap();
        if name != "dataCenterInfo" {
            let call = registration(&node, Format::Xml, xml.replace(element, &format!("<{name}/>")));
            assert_eq!(refused(&node, call, 400, sentence).await.text(), sentence);
        }
    }
    let nameless = xml.replace("<instanceId>a</instanceId><hostName>n1.test</hostName>", "");
    let call = registration(&node, Format::Xml, nameless);
    assert_eq!(refused(&node, call, 400, "id").await.text(), "Missing instanceId");
    let call = registration(&node, Format::Xml, xml.replace("<app>ORDERS</app>", "<app/>"));
    assert_eq!(refused(&node, call, 400, "app").await.text(), "Missing appName");
    let detail = unreadable(&node, Format::Xml, xml.replace("<app>ORDERS</app>", ""), "app").await;
    assert_eq!(detail, "instance.app: missing");
    for element in [
        "<instanceId>a</instanceId>",
        "<status>UP</status>",
        "<port enabled=\"true\">8080</port>",
        "<metadata><zone>a</zone></metadata>",
        "<vipAddress>orders</vipAddress>",
        "<countryId>1</countryId>",
        "<lastDirtyTimestamp>1700000000000</lastDirtyTimestamp>",
    ] {
        let node = TestNode::start(&[]);
        let call = registration(&node, Format::Xml, xml.replace(element, ""));
        assert_eq!(call.send().await.status, 204, "{element}");
        assert_serves(&node, element).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_out_of_range_is_refused_and_one_at_its_edge_is_taken() {
    let node = TestNode::start(&[]);
    for beyond in ["2147483648", "-2147483649", "99999999999999999999", &"9".repeat(1000)] {
        for name in ["port", "securePort", "countryId"] {
            assert_refused_at(&node, &of(name, beyond), &format!("instance.{name}")).await;
        }
        for name in ["renewalIntervalInSecs", "durationInSecs"] {
            assert_refused_at(
                &node,
                &of("leaseInfo", &of(name, beyond)),
                &format!("instance.leaseInfo.{name}"),
            )
            .await;
        }
    }
    for beyond in ["9223372036854775808", "-9223372036854775809"] {
        for name in ["lastUpdatedTimestamp", "lastDirtyTimestamp"] {
            assert_refused_at(&node, &of(name, beyond), &format!("instance.{name}")).await;
        }
    }
    for edge in ["2147483647", "-2147483648", "0", "-1", "+7", " 65536\n"] {
        for name in ["port", "securePort", "countryId", "lastDirtyTimestamp"] {
            taken(&of(name, edge)).await;
        }
        taken(&of("leaseInfo", &(of("durationInSecs", edge) + &of("renewalIntervalInSecs", edge)))).await;
    }
    for edge in [i64::MAX, i64::MIN] {
        taken(&of("lastDirtyTimestamp", &edge.to_string())).await;
        taken(&of("leaseInfo", &of("serviceUpTimestamp", &edge.to_string()))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_utf8_are_refused_wherever_they_stand() {
    let node = TestNode::start(&[]);
    for bytes in [&b"\xff"[..], b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"] {
        for text in TEXTS.iter().map(|name| with(&of(name, "a~b"))).chain([
            with("<un~known/>"),
            with("<unknown a=\"~\"/>"),
            with("<unknown>~</unknown>"),
            with("<metadata><k>~</k></metadata>"),
            with("<metadata><k~>v</k~></metadata>"),
            with("<!-- ~ -->"),
            with("<hostName><![CDATA[~]]></hostName>"),
            good(Format::Xml) + "~",
            "~".to_owned() + &good(Format::Xml),
        ]) {
            let body = text.split('~').map(str::as_bytes).collect::<Vec<_>>().join(bytes);
            let detail = unreadable(&node, Format::Xml, body, &text).await;
            assert!(detail.contains("UTF-8") && detail.contains("offset"), "{detail}");
        }
    }
    for encoding in ["ISO-8859-1", "UTF-16", "windows-1252", "nonsense", ""] {
        let body = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{}", good(Format::Xml));
        unreadable(&node, Format::Xml, body, encoding).await;
    }
}

#[tokio::test(start_paused = true)]
async fn control_characters_are_refused_in_every_text_raw_and_by_number() {
    let node = TestNode::start(&[]);
    let raw = ["\0", "\u{1}", "\u{8}", "\u{b}", "\u{c}", "\u{1f}", "\u{fffe}", "\u{ffff}"];
    let by_number = [
        "&#0;",
        "&#1;",
        "&#x8;",
        "&#11;",
        "&#x1F;",
        "&#xFFFE;",
        "&#xD800;",
        "&#xDFFF;",
        "&#x110000;",
        "&#;",
        "&#x;",
    ];
    for bad in raw.into_iter().chain(by_number) {
        for name in TEXTS.into_iter().chain(["unknown", "status"]) {
            unreadable(&node, Format::Xml, with(&of(name, &format!("ORDERS{bad}b"))), name).await;
        }
        for elements in [
            of("metadata", &of("k", bad)),
            of("dataCenterInfo", &format!("<name>Amazon</name><metadata><k>{bad}</k></metadata>")),
            of("unknown", &of("deeper", bad)),
        ] {
            unreadable(&node, Format::Xml, with(&elements), &elements).await;
        }
    }
    for name in TEXTS.into_iter().filter(|n| *n != "app") {
        assert_refused_at(&node, &of(name, "a&#0;b"), &format!("instance.{name}")).await;
    }
    // A key can hide one behind the escapes of element names.
    for name in ["_.0000", "k_.0001", "_.001f", "_.fffe", "_.d800", "_.dc00_.d800"] {
        assert_refused_at(&node, &of("metadata", &of(name, "v")), &format!("instance.metadata.{name}")).await;
    }
    for fine in [
        "&#9;",
        "&#10;",
        "&#13;",
        "\t",
        "\n",
        "\u{7f}",
        "\u{85}",
        "&#x9f;",
        "\u{2028}",
        "&#x1F980;",
        "\u{fffd}",
    ] {
        for name in TEXTS.into_iter().filter(|n| *n != "app") {
            taken(&of(name, &format!("a{fine}b"))).await;
        }
        taken(&of("metadata", &of("k", &format!("a{fine}b")))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn document_types_and_entities_are_refused() {
    let node = TestNode::start(&[]);
    let xml = good(Format::Xml);
    let laughs: String =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    for declaration in [
        format!("<!DOCTYPE instance [<!ENTITY l0 \"lol\">{laughs}]>"),
        "<!DOCTYPE instance [<!ENTITY l9 \"x\">]>".to_owned(),
        "<!DOCTYPE instance [<!ENTITY l9 SYSTEM \"file:///etc/passwd\">]>".to_owned(),
        "<!DOCTYPE instance [<!ENTITY % p SYSTEM \"http://127.0.0.1/x.dtd\"> %p;]>".to_owned(),
        "<!DOCTYPE instance SYSTEM \"http://127.0.0.1/x.dtd\">".to_owned(),
        "<!DOCTYPE instance PUBLIC \"-//X//Y\" \"x.dtd\">".to_owned(),
        "<!DOCTYPE instance>".to_owned(),
        "<!doctype instance>".to_owned(),
        "<!DOCTYPE".to_owned(),
        "<!DOCTYPE i [".to_owned(),
        format!("<!DOCTYPE i [{}", "<!ENTITY a \"b\">".repeat(5000)),
        "<!ENTITY l9 \"x\">".to_owned(),
    ] {
        for body in [
            format!("{declaration}{xml}"),
            format!("<?xml version=\"1.0\"?>\n{declaration}\n{}", xml.replace("n1.test", "&l9;")),
            xml.replace("<app>", &format!("{declaration}<app>")),
        ] {
            let detail = unreadable(&node, Format::Xml, body, &declaration).await;
            assert!(!detail.contains("root:"), "no file is ever read");
        }
    }
    for reference in
        ["&e;", "&nbsp;", "&LT;", "&lt", "&", "& ;", "&;", "&a b;", "&#65", "&#-65;", "&#+65;", "&%p;"]
    {
        for elements in [
            of("hostName", reference),
            of("metadata", &of("k", reference)),
            of("unknown", reference),
            format!("<unknown a=\"{reference}\"/>"),
            reference.to_owned(),
        ] {
            unreadable(&node, Format::Xml, with(&elements), &elements).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn absurd_nesting_is_refused_wherever_it_stands() {
    let node = TestNode::start(&["--eurekad.limits.body-bytes=4000000"]);
    let deep = format!("{}{}", "<x>".repeat(100_000), "</x>".repeat(100_000));
    let unclosed = "<x>".repeat(100_000);
    for deep in [&deep, &unclosed] {
        for elements in
            [deep.clone(), of("unknown", deep), of("metadata", deep), of("metadata", &of("k", deep))]
        {
            unreadable(&node, Format::Xml, with(&elements), "deep").await;
        }
        for name in TEXTS.into_iter().chain(NUMBERS).chain(["status", "leaseInfo", "dataCenterInfo"]) {
            unreadable(&node, Format::Xml, with(&of(name, deep)), name).await;
        }
        let place = of("dataCenterInfo", &format!("<name>Amazon</name><metadata>{deep}</metadata>"));
        unreadable(&node, Format::Xml, with(&place), "place").await;
        unreadable(&node, Format::Xml, deep.clone(), "root").await;
    }
    unreadable(&node, Format::Xml, "<instance>".repeat(100_000), "roots").await;
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=\"{n}\"")).collect();
    let answer = registration(&node, Format::Xml, with(&format!("<unknown{attributes}/>"))).send().await;
    assert!([204, 400].contains(&answer.status.as_u16()), "{}", answer.text());
}

#[tokio::test(start_paused = true)]
async fn what_is_almost_xml_is_refused() {
    let node = TestNode::start(&[]);
    let xml = good(Format::Xml);
    for (what, bad) in [
        ("wrong end", xml.replace("</app>", "</App>")),
        ("crossed", xml.replace("</app><ipAddr>", "<ipAddr></app>")),
        ("two roots", xml.repeat(2)),
        ("text behind", xml.clone() + "x"),
        ("text before", "x".to_owned() + &xml),
        ("a NUL behind", xml.clone() + "\0"),
        ("other root", xml.replace("instance>", "application>")),
        ("applications", format!("<applications>{xml}</applications>")),
        ("attribute twice", with("<port enabled=\"true\" enabled=\"false\">1</port>")),
        ("attribute without quotes", with("<port enabled=true>1</port>")),
        ("attribute without value", with("<port enabled>1</port>")),
        ("less-than in text", with("<hostName>a < b</hostName>")),
        ("element without name", with("<>x</>")),
        ("number as name", with("<1>x</1>")),
        ("open comment", with("<!-- x")),
        ("open CDATA", with("<hostName><![CDATA[x</hostName>")),
        ("open instruction", with("<?x")),
        ("second declaration", with("<?xml version=\"1.0\"?>")),
        ("late declaration", format!(" <?xml version=\"1.0\"?>{xml}")),
        ("JSON", instance("ORDERS", "a").wrapped().to_string()),
        ("HTML", "<html><body><p>Hello<br></body></html>".to_owned()),
    ] {
        unreadable(&node, Format::Xml, bad, what).await;
    }
}
