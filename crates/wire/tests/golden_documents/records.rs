//! The records that the documents show, and how a test writes and reads one.

use eurekad_wire::encode::{self, ApplicationsWriter};
use eurekad_wire::{
    ActionType, AppName, Applications, DataCenterInfo, Form, Format, InstanceInfo, InstanceStatus, LeaseInfo,
    Port, Shown, decode,
};

/// An instance with everything that a client in a data centre of its own sends.
pub(crate) fn orders() -> InstanceInfo {
    let mut info = InstanceInfo::new("ORDERS".into());
    info.instance_id = Some("web-1.example.com:orders:8080".into());
    info.host_name = "web-1.example.com".into();
    info.ip_addr = "10.0.0.11".into();
    info.port = Port { number: 8080, enabled: true };
    info.secure_port = Port { number: 8443, enabled: false };
    info.data_center_info = Some(DataCenterInfo::MyOwn);
    info.lease_info = Some(LeaseInfo {
        renewal_interval_secs: 30,
        duration_secs: 90,
        registration_timestamp: 1_700_000_000_000,
        last_renewal_timestamp: 1_700_000_060_000,
        eviction_timestamp: 0,
        service_up_timestamp: 1_700_000_000_100,
    });
    info.metadata = [("zone".into(), "z1".into()), ("management.port".into(), "9090".into())].into();
    info.app_group_name = Some("SHOP".into());
    info.home_page_url = Some("http://web-1.example.com:8080/".into());
    info.status_page_url = Some("http://web-1.example.com:8080/info".into());
    info.health_check_url = Some("http://web-1.example.com:8080/health".into());
    info.vip_address = Some("orders".into());
    info.secure_vip_address = Some("orders-s".into());
    info.last_updated_timestamp = 1_700_000_000_200;
    info.last_dirty_timestamp = Some(1_700_000_000_050);
    info.action_type = Some(ActionType::Added);
    info
}

/// The same host's second instance, without metadata.
pub(crate) fn orders_2() -> InstanceInfo {
    InstanceInfo { instance_id: Some("web-2".into()), metadata: Default::default(), ..orders() }
}

/// An instance in Amazon's data centre, with an override and an auto-scaling group.
pub(crate) fn pay() -> InstanceInfo {
    let mut info = InstanceInfo::new("PAY".into());
    info.host_name = "ec2-1-2-3-4.compute-1.amazonaws.com".into();
    info.ip_addr = "10.1.2.3".into();
    info.status = InstanceStatus::Starting;
    info.overridden_status = InstanceStatus::OutOfService;
    info.secure_port.enabled = true;
    let metadata = [
        ("public-ipv4", "1.2.3.4"),
        ("accountId", "123456789012"),
        ("public-hostname", "ec2-1-2-3-4.compute-1.amazonaws.com"),
        ("instance-id", "i-0abc12345"),
        ("local-ipv4", "10.1.2.3"),
        ("instance-type", "m5.large"),
        ("ami-id", "ami-77"),
        ("availability-zone", "us-east-1c"),
    ];
    info.data_center_info = Some(DataCenterInfo::Amazon(metadata.map(|(k, v)| (k.into(), v.into())).into()));
    info.health_check_url = Some("http://ec2-1-2-3-4.compute-1.amazonaws.com:7001/h".into());
    info.secure_health_check_url = Some("https://ec2-1-2-3-4.compute-1.amazonaws.com:7002/h".into());
    info.vip_address = Some("pay.vip:7001,pay2".into());
    info.secure_vip_address = Some("pay.svip:7002".into());
    info.last_updated_timestamp = 1_700_000_000_200;
    info.last_dirty_timestamp = Some(1_700_000_000_050);
    info.asg_name = Some("pay-asg-v001".into());
    info
}

/// An instance as a server passes it on to another.
pub(crate) fn replicated() -> InstanceInfo {
    let mut info = InstanceInfo::new("FOO".into());
    info.instance_id = Some("foo-1".into());
    info.host_name = "h1".into();
    info.ip_addr = "1.1.1.1".into();
    info.data_center_info = Some(DataCenterInfo::MyOwn);
    info.lease_info = Some(LeaseInfo {
        registration_timestamp: 1_700_000_000_100,
        last_renewal_timestamp: 1_700_000_000_100,
        service_up_timestamp: 1_700_000_000_100,
        ..LeaseInfo::default()
    });
    info.last_updated_timestamp = 1_700_000_000_101;
    info.last_dirty_timestamp = Some(1_700_000_000_000);
    info.action_type = Some(ActionType::Added);
    info
}

pub(crate) fn instance(form: Form, info: &InstanceInfo) -> String {
    text(encode::instance(form, info.into()))
}

pub(crate) fn applications(
    form: Form,
    version: i64,
    hash_code: &str,
    apps: &[(&str, &[InstanceInfo])],
) -> String {
    let mut writer = ApplicationsWriter::new(form, version, hash_code);
    for (name, instances) in apps {
        writer.application(&AppName::new(name), instances.iter().map(Shown::from));
    }
    text(writer.finish())
}

pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("a document is UTF-8")
}

pub(crate) fn decoded(format: Format, text: &str) -> InstanceInfo {
    decode::instance(format, text.as_bytes()).expect(text)
}

pub(crate) fn all(format: Format, text: &str) -> Applications {
    decode::applications(format, text.as_bytes()).expect(text)
}
