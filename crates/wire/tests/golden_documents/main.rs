//! Documents as the Java server writes them: encoded to the byte, and decoded to the same records.
//!
//! Metadata is sorted here and unordered there, so the texts in `golden/` have theirs sorted. Like the documents, they
//! have no newline at their end.

use eurekad_wire::{
    ActionType, Applications, DataCenterInfo, Form, Format, InstanceInfo, LeaseInfo, Port, Shown, decode,
    encode,
};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../golden/", $name))
    };
}

mod batches;
mod records;

use records::{all, applications, decoded, instance, orders, orders_2, pay, text};

/// G1 and G4.
/// Catalog: E1, E3, E13, E14, E22, E30
/// Case: P002, P007
/// Catalog: E30
#[test]
fn an_instance_in_a_data_centre_of_its_own() {
    for (form, golden) in
        [(Form::JSON, golden!("g01-instance.json")), (Form::XML, golden!("g04-instance.xml"))]
    {
        assert_eq!(instance(form, &orders()), golden);
        assert_eq!(decoded(form.format, golden), orders());
    }
}

/// G2.
/// Catalog: E1, E4, E17, E22, E30
#[test]
fn an_instance_without_metadata_carries_the_name_of_javas_empty_map() {
    let bare = InstanceInfo { metadata: Default::default(), ..orders() };
    let json = golden!("g01-instance.json").replace(
        r#"{"management.port":"9090","zone":"z1"}"#,
        r#"{"@class":"java.util.Collections$EmptyMap"}"#,
    );
    assert_eq!(instance(Form::JSON, &bare), json);
    assert_eq!(decoded(Format::Json, &json), bare);
    let xml = instance(Form::XML, &bare);
    assert!(xml.contains("\n  <metadata class=\"java.util.Collections$EmptyMap\"/>\n"), "{xml}");
    assert_eq!(decoded(Format::Xml, &xml), bare);
}

/// G3 and G5.
/// Catalog: E3, E10, E11, E30
#[test]
fn an_instance_in_amazons_data_centre() {
    for (form, golden) in [(Form::JSON, golden!("g03-amazon.json")), (Form::XML, golden!("g05-amazon.xml"))] {
        assert_eq!(instance(form, &pay()), golden);
        assert_eq!(decoded(form.format, golden), pay());
    }
}

/// G6 and G14.
/// Catalog: E30
#[test]
fn an_empty_registry() {
    assert_eq!(applications(Form::JSON, 1, "", &[]), golden!("g06-empty.json"));
    assert_eq!(applications(Form::XML, 1, "", &[]), golden!("g06-empty.xml"));
    assert_eq!(
        applications(Form::JSON, -1, "", &[]),
        r#"{"applications":{"versions__delta":"-1","apps__hashcode":"","application":[]}}"#
    );
    assert_eq!(applications(Form::JSON_COMPACT, 1, "", &[]), golden!("g12-jackson-empty.json"));
    let empty = Applications { version: 1, hash_code: Some(String::new()), applications: Vec::new() };
    for (format, golden) in [
        (Format::Json, golden!("g06-empty.json")),
        (Format::Xml, golden!("g06-empty.xml")),
        (Format::Json, golden!("g12-jackson-empty.json")),
    ] {
        assert_eq!(all(format, golden), empty);
    }
}

/// G7, G8 and G9.
/// Catalog: E1, E8, E18, E30
/// Catalog: E8, E30
#[test]
fn applications_and_their_instances_are_arrays_however_many_there_are() {
    let two = [orders(), orders_2()];
    let one: &[(&str, &[InstanceInfo])] = &[("ORDERS", &[orders()])];
    let several: &[(&str, &[InstanceInfo])] = &[("ORDERS", &two), ("PAY", &[pay()])];
    assert_eq!(applications(Form::JSON, 1, "UP_1_", one), golden!("g07-one.json"));
    assert_eq!(
        applications(Form::JSON, 7, "STARTING_1_UP_2_", several),
        golden!("g08-two-applications.json")
    );
    let application = encode::application(Form::JSON, &"ORDERS".into(), [Shown::from(&orders())]);
    assert_eq!(text(application), golden!("g09-application.json"));

    let read = all(Format::Json, golden!("g08-two-applications.json"));
    assert_eq!((read.version, read.hash_code.as_deref()), (7, Some("STARTING_1_UP_2_")));
    assert_eq!(read.reconcile_hash_code().to_string(), "STARTING_1_UP_2_");
    assert_eq!(read.applications[0].instances, two);
    assert_eq!(read.applications[1].instances, [pay()]);
    let read = decode::application(Format::Json, golden!("g09-application.json").as_bytes()).unwrap();
    assert_eq!((read.name.as_str(), read.instances), ("ORDERS", vec![orders()]));
}

/// G7 as XML, which has no elements for lists.
/// Catalog: E3, E18
#[test]
fn applications_in_xml_hold_their_instances_directly() {
    let xml = applications(Form::XML, 1, "UP_1_", &[("ORDERS", &[orders()])]);
    let inner = golden!("g04-instance.xml").replace('\n', "\n    ");
    let expected = format!(
        "<applications>\n  <versions__delta>1</versions__delta>\n  <apps__hashcode>UP_1_</apps__hashcode>\n  \
         <application>\n    <name>ORDERS</name>\n    {inner}\n  </application>\n</applications>"
    );
    assert_eq!(xml, expected);
    assert_eq!(all(Format::Xml, &xml), all(Format::Json, golden!("g07-one.json")));
    let application = text(encode::application(Form::XML, &"ORDERS".into(), [Shown::from(&orders())]));
    let inner = golden!("g04-instance.xml").replace('\n', "\n  ");
    assert_eq!(application, format!("<application>\n  <name>ORDERS</name>\n  {inner}\n</application>"));
}

/// G10 and G11.
/// Catalog: E5, E6, E12, E15, E16, E30
/// Case: U10
/// Catalog: E30
#[test]
fn compact_documents_have_their_own_fields_order_and_types() {
    let json = applications(
        Form::JSON_COMPACT,
        7,
        "STARTING_1_UP_2_",
        &[("ORDERS", &[orders(), orders_2()]), ("PAY", &[pay()])],
    );
    assert_eq!(json, golden!("g10-compact.json"));
    let xml = applications(Form::XML_COMPACT, 1, "UP_1_", &[("ORDERS", &[orders()])]);
    assert_eq!(xml, golden!("g11-compact.xml"));

    let read = all(Format::Json, golden!("g10-compact.json"));
    assert_eq!((read.version, read.hash_code.as_deref()), (7, Some("STARTING_1_UP_2_")));
    let Some(DataCenterInfo::Amazon(kept)) = &read.applications[1].instances[0].data_center_info else {
        panic!("not Amazon");
    };
    assert_eq!(kept.get("public-hostname").map(|h| &**h), Some("ec2-1-2-3-4.compute-1.amazonaws.com"));
    assert_eq!(kept.len(), 5);
    let orders = &all(Format::Xml, golden!("g11-compact.xml")).applications[0].instances[0];
    assert!(orders.metadata.is_empty() && orders.lease_info.is_none());
    assert_eq!(orders.id(), "web-1.example.com:orders:8080");
}

/// G12 and G13.
/// Catalog: E2, E7, E8, E31
/// Catalog: E30
#[test]
fn what_other_codecs_write_is_read_as_the_same_records() {
    assert_eq!(decoded(Format::Json, golden!("g12-jackson-instance.json")), orders());
    assert_eq!(all(Format::Json, golden!("g13-xstream.json")), all(Format::Json, golden!("g07-one.json")));
}

/// G15.
/// Catalog: E30
/// Case: P026
/// Catalog: E30
#[test]
fn metadata_keys_that_are_no_names_are_escaped_as_xstream_does() {
    let entries = [("a_b", "1"), ("a$b", "2"), ("a b", "3"), ("x<y", "<&>\"'"), ("9z", "é")];
    let mut info = orders();
    info.metadata = entries.map(|(k, v)| (k.into(), v.into())).into();
    let xml = instance(Form::XML, &info);
    let block = |xml: &str| {
        let mut lines: Vec<_> = xml.lines().filter(|l| l.starts_with("    <")).map(str::to_owned).collect();
        lines.retain(|l| golden!("g15-keys.xml").contains(l.as_str()));
        lines.sort();
        lines
    };
    assert_eq!(block(&xml), block(golden!("g15-keys.xml")));
    assert_eq!(block(&xml).len(), entries.len());
    assert_eq!(decoded(Format::Xml, &xml), info);
    let json = instance(Form::JSON, &info);
    assert!(json.contains(r#""metadata":{"9z":"é","a b":"3","a$b":"2","a_b":"1","x<y":"<&>\"'"}"#), "{json}");
    assert_eq!(decoded(Format::Json, &json), info);
}

/// G18.
/// Catalog: E30
#[test]
fn a_delta_shows_a_deleted_instance_with_its_last_status_and_the_time_of_its_end() {
    let mut info = InstanceInfo::new("BAR".into());
    info.host_name = "h3".into();
    info.ip_addr = "10.0.0.3".into();
    info.data_center_info = Some(DataCenterInfo::MyOwn);
    info.metadata = [("a", "1"), ("b", "2"), ("c", "")].map(|(k, v)| (k.into(), v.into())).into();
    info.last_updated_timestamp = 1_700_000_009_000;
    info.last_dirty_timestamp = Some(1_700_000_002_000);
    info.action_type = Some(ActionType::Deleted);
    info.lease_info = Some(LeaseInfo {
        registration_timestamp: 1_700_000_003_000,
        last_renewal_timestamp: 1_700_000_003_000,
        eviction_timestamp: 1_700_000_009_000,
        service_up_timestamp: 1_700_000_001_000,
        ..LeaseInfo::default()
    });
    assert_eq!(
        applications(Form::JSON, 9, "UP_2_", &[("BAR", std::slice::from_ref(&info))]),
        golden!("g18-delta.json")
    );
    assert_eq!(all(Format::Json, golden!("g18-delta.json")).applications[0].instances, [info]);
}

/// G19.
/// Catalog: E30
#[test]
fn an_instance_fits_into_documents_of_another_kind() {
    let element = encode::instance_element_xml("instanceInfo", 1, Shown::from(&orders()));
    let inner = golden!("g04-instance.xml").replace('\n', "\n  ");
    let expected = format!("  {inner}")
        .replace("<instance>", "<instanceInfo>")
        .replace("</instance>", "</instanceInfo>");
    assert_eq!(element, expected);
    let json = text(encode::instance_fields_json(Shown::from(&orders())));
    assert_eq!(format!("{{\"instance\":{json}}}"), golden!("g01-instance.json"));
}

/// A strict client refuses a whole registry for one key it does not know.
/// Catalog: E33
#[test]
fn no_document_holds_a_key_that_eureka_does_not_know() {
    let mut info = InstanceInfo { sid: Some("s".into()), ..orders() };
    info.secure_health_check_url = Some("u".into());
    info.asg_name = Some("g".into());
    let known = "instanceId hostName app ipAddr sid status overriddenStatus port securePort countryId \
                 dataCenterInfo leaseInfo metadata appGroupName homePageUrl statusPageUrl healthCheckUrl \
                 secureHealthCheckUrl vipAddress secureVipAddress isCoordinatingDiscoveryServer \
                 lastUpdatedTimestamp lastDirtyTimestamp actionType asgName";
    let json: serde_json::Value = serde_json::from_str(&instance(Form::JSON, &info)).unwrap();
    let mut keys: Vec<&str> = json["instance"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut known: Vec<&str> = known.split_whitespace().collect();
    keys.sort_unstable();
    known.sort_unstable();
    assert_eq!(keys, known);
    let xml = instance(Form::XML, &info);
    let mut names: Vec<&str> = xml
        .lines()
        .filter_map(|l| l.strip_prefix("  <"))
        .filter(|l| !l.starts_with('/'))
        .map(|l| l.split(['>', ' ']).next().unwrap())
        .collect();
    names.sort_unstable();
    let mut known: Vec<_> =
        known.iter().map(|k| if *k == "overriddenStatus" { "overriddenstatus" } else { k }).collect();
    known.sort_unstable();
    assert_eq!(names, known);
}

/// What Spring's client of today sends.
/// Catalog: E34
#[test]
fn springs_registration_with_nulls_booleans_and_numbers_is_read() {
    let info = decoded(Format::Json, golden!("spring-register.json"));
    let mut expected = InstanceInfo::new("MYSVC".into());
    expected.instance_id = Some("10.0.0.5:mysvc:18790".into());
    expected.host_name = "localhost".into();
    expected.ip_addr = "10.0.0.5".into();
    expected.port = Port { number: 18790, enabled: true };
    expected.secure_port = Port { number: 443, enabled: false };
    expected.data_center_info = Some(DataCenterInfo::MyOwn);
    expected.lease_info = Some(LeaseInfo::default());
    expected.metadata = [("management.port".into(), "18790".into())].into();
    expected.home_page_url = Some("http://localhost:18790/".into());
    expected.status_page_url = Some("http://localhost:18790/actuator/info".into());
    expected.health_check_url = Some("http://localhost:18790/actuator/health".into());
    expected.vip_address = Some("mysvc".into());
    expected.secure_vip_address = Some("mysvc".into());
    expected.last_updated_timestamp = 1_700_000_000_000;
    expected.last_dirty_timestamp = Some(1_700_000_001_000);
    assert_eq!(info, expected);
}

/// The body of a hand-made client.
/// Case: P004
#[test]
fn a_registration_with_a_bare_port_and_no_class_is_read() {
    let body = r#"{"instance":{"instanceId":"a","app":"ORDERS","hostName":"n1.test","ipAddr":"10.9.0.1",
        "status":"UP","port":8080,"vipAddress":"orders","dataCenterInfo":{"name":"MyOwn"}}}"#;
    let info = decoded(Format::Json, body);
    assert_eq!(info.port, Port { number: 8080, enabled: true });
    assert_eq!(info.data_center_info, Some(DataCenterInfo::MyOwn));
    let json = instance(Form::JSON, &info);
    assert!(json.contains(r#""port":{"$":8080,"@enabled":"true"}"#), "{json}");
}

#[test]
fn an_instance_without_host_and_address_has_null_in_json_and_no_element_in_xml() {
    let info = InstanceInfo::new("A".into());
    for form in [Form::JSON, Form::JSON_COMPACT] {
        let json = instance(form, &info);
        assert!(json.contains(r#""hostName":null"#) && json.contains(r#""ipAddr":null"#), "{json}");
    }
    for form in [Form::XML, Form::XML_COMPACT] {
        let xml = instance(form, &info);
        assert!(!xml.contains("hostName") && !xml.contains("ipAddr"), "{xml}");
    }
    assert!(instance(Form::JSON, &info).contains(r#""lastDirtyTimestamp":"0""#));
}
