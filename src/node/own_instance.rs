//! What a node says of itself: the instance in its status document, and the one it registers.

use std::net::SocketAddr;

use eurekad_wire::{AppName, DataCenterInfo, InstanceId, InstanceInfo, LeaseInfo, Port};

use crate::settings::Settings;

pub(super) fn own_instance(settings: &Settings, port: u16, now: i64) -> InstanceInfo {
    let named = &settings.instance;
    let mut info = InstanceInfo::new(AppName::new(&named.app_name));
    info.instance_id = Some(InstanceId::new(&settings.own_instance_id(port)));
    info.host_name = named.host_name.as_str().into();
    info.ip_addr = named.ip_address.as_str().into();
    info.port = Port { number: port.into(), enabled: true };
    info.vip_address = Some(named.app_name.to_lowercase().into());
    info.data_center_info = Some(DataCenterInfo::MyOwn);
    info.lease_info = Some(LeaseInfo {
        renewal_interval_secs: named.renewal_interval_secs,
        duration_secs: named.duration_secs,
        ..LeaseInfo::default()
    });
    info.metadata =
        named.metadata.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect();
    // An address of IPv6 stands in brackets.
    let host = match named.host_name.parse() {
        Ok(ip) => SocketAddr::new(ip, port).to_string(),
        Err(_) => format!("{}:{port}", named.host_name),
    };
    info.home_page_url = Some(format!("http://{host}{}/", settings.http.context_path).into());
    info.is_coordinating_discovery_server = true;
    info.last_updated_timestamp = now;
    info.last_dirty_timestamp = Some(now);
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_stands_in_brackets_in_its_url() {
        let url = |host: &str| {
            let mut settings = Settings::default();
            settings.instance.host_name = host.to_owned();
            own_instance(&settings, 8761, 0).home_page_url.unwrap().to_string()
        };
        assert_eq!(url("fd00::5"), "http://[fd00::5]:8761/");
        assert_eq!(url("10.0.0.1"), "http://10.0.0.1:8761/");
        assert_eq!(url("node1"), "http://node1:8761/");
    }
}
