//! Writing XML.
//!
//! **Compat:** full documents are those of `XStreamXml` and compact ones those of `JacksonXmlMini`. Lists have no
//! element of their own around them. The override is `overriddenstatus` here, in lower case, while JSON has it as
//! `overriddenStatus`.

use super::names;
use super::writer::Writer;
use crate::{
    AMAZON_COMPACT_KEYS, ActionType, AppName, DataCenterInfo, Detail, InstanceId, InstanceInfo, LeaseInfo,
    Metadata, Port, ReplicationListResponse, Shown,
};

const EMPTY_MAP: &str = "java.util.Collections$EmptyMap";
const RESPONSE_LIST: &str = "com.netflix.eureka.cluster.protocol.ReplicationListResponse";
const RESPONSE: &str = "com.netflix.eureka.cluster.protocol.ReplicationInstanceResponse";

pub(crate) fn instance(out: &mut Vec<u8>, detail: Detail, shown: Shown<'_>) {
    element(&mut Writer::starting(out, detail, 0), detail, "instance", shown);
}

pub(crate) fn instance_element(out: &mut Vec<u8>, name: &str, depth: usize, shown: Shown<'_>) {
    element(&mut Writer::starting(out, Detail::Full, depth), Detail::Full, name, shown);
}

pub(crate) fn application<'a>(
    out: &mut Vec<u8>,
    detail: Detail,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    application_element(&mut Writer::starting(out, detail, 0), detail, name, instances);
}

pub(crate) fn head(out: &mut Vec<u8>, detail: Detail, version: i64, hash_code: &str) {
    let mut w = Writer::starting(out, detail, 0);
    w.open("applications", None);
    if detail == Detail::Full {
        versions(&mut w, version, hash_code);
    }
}

pub(crate) fn piece<'a>(
    out: &mut Vec<u8>,
    detail: Detail,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    application_element(&mut Writer::continuing(out, detail, 1), detail, name, instances);
}

pub(crate) fn tail(out: &mut Vec<u8>, detail: Detail, version: i64, hash_code: &str) {
    let mut w = Writer::continuing(out, detail, 1);
    if detail == Detail::Compact {
        versions(&mut w, version, hash_code);
    }
    w.close("applications");
}

fn versions(w: &mut Writer<'_>, version: i64, hash_code: &str) {
    w.number("versions__delta", None, version);
    w.text("apps__hashcode", hash_code);
}

fn application_element<'a>(
    w: &mut Writer<'_>,
    detail: Detail,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    w.open("application", None);
    w.text("name", name.as_str());
    instances.into_iter().for_each(|shown| element(w, detail, "instance", shown));
    w.close("application");
}

fn element(w: &mut Writer<'_>, detail: Detail, name: &str, shown: Shown<'_>) {
    w.open(name, None);
    match detail {
        Detail::Full => full(w, shown),
        Detail::Compact => compact(w, shown.info),
    }
    w.close(name);
}

fn full(w: &mut Writer<'_>, shown: Shown<'_>) {
    let info = shown.info;
    w.optional("instanceId", info.instance_id.as_ref().map(InstanceId::as_str));
    w.optional("hostName", said(&info.host_name));
    w.text("app", info.app.as_str());
    w.optional("ipAddr", said(&info.ip_addr));
    w.optional("sid", info.sid.as_deref());
    w.text("status", info.status.as_str());
    w.text("overriddenstatus", info.overridden_status.as_str());
    port(w, "port", info.port);
    port(w, "securePort", info.secure_port);
    w.number("countryId", None, info.country_id);
    if let Some(data_center) = &info.data_center_info {
        data_center_info(w, data_center, Detail::Full);
    }
    if let Some(lease) = shown.lease() {
        lease_info(w, lease);
    }
    metadata(w, &info.metadata);
    w.optional("appGroupName", info.app_group_name.as_deref());
    w.optional("homePageUrl", info.home_page_url.as_deref());
    w.optional("statusPageUrl", info.status_page_url.as_deref());
    w.optional("healthCheckUrl", info.health_check_url.as_deref());
    w.optional("secureHealthCheckUrl", info.secure_health_check_url.as_deref());
    w.optional("vipAddress", info.vip_address.as_deref());
    w.optional("secureVipAddress", info.secure_vip_address.as_deref());
    w.text("isCoordinatingDiscoveryServer", truth(info.is_coordinating_discovery_server));
    w.number("lastUpdatedTimestamp", None, info.last_updated_timestamp);
    w.number("lastDirtyTimestamp", None, info.last_dirty_timestamp.unwrap_or(0));
    w.optional("actionType", info.action_type.map(ActionType::as_str));
    w.optional("asgName", info.asg_name.as_deref());
}

fn compact(w: &mut Writer<'_>, info: &InstanceInfo) {
    w.optional("instanceId", info.instance_id.as_ref().map(InstanceId::as_str));
    w.text("app", info.app.as_str());
    w.optional("ipAddr", said(&info.ip_addr));
    w.optional("vipAddress", info.vip_address.as_deref());
    w.optional("secureVipAddress", info.secure_vip_address.as_deref());
    if let Some(data_center) = &info.data_center_info {
        data_center_info(w, data_center, Detail::Compact);
    }
    w.optional("hostName", said(&info.host_name));
    w.text("status", info.status.as_str());
    w.number("lastUpdatedTimestamp", None, info.last_updated_timestamp);
    w.optional("actionType", info.action_type.map(ActionType::as_str));
    w.optional("asgName", info.asg_name.as_deref());
    port(w, "port", info.port);
    port(w, "securePort", info.secure_port);
}

/// XML has no `null`: what was not said is left out.
fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn port(w: &mut Writer<'_>, name: &str, port: Port) {
    w.number(name, Some(("enabled", truth(port.enabled))), port.number);
}

fn data_center_info(w: &mut Writer<'_>, data_center: &DataCenterInfo, detail: Detail) {
    let class = Some(("class", data_center.class()));
    let Some(name) = data_center.name() else { return w.empty("dataCenterInfo", class) };
    w.open("dataCenterInfo", class);
    w.text("name", name);
    match (data_center, detail) {
        (DataCenterInfo::Amazon(all), Detail::Full) => metadata(w, all),
        (DataCenterInfo::Amazon(all), Detail::Compact) => {
            let kept = all.iter().filter(|(key, _)| AMAZON_COMPACT_KEYS.contains(&&***key));
            entries(w, kept);
        }
        (DataCenterInfo::MyOwn | DataCenterInfo::Netflix | DataCenterInfo::Unnamed, _) => {}
    }
    w.close("dataCenterInfo");
}

fn lease_info(w: &mut Writer<'_>, lease: LeaseInfo) {
    w.open("leaseInfo", None);
    w.number("renewalIntervalInSecs", None, lease.renewal_interval_secs);
    w.number("durationInSecs", None, lease.duration_secs);
    w.number("registrationTimestamp", None, lease.registration_timestamp);
    w.number("lastRenewalTimestamp", None, lease.last_renewal_timestamp);
    w.number("evictionTimestamp", None, lease.eviction_timestamp);
    w.number("serviceUpTimestamp", None, lease.service_up_timestamp);
    w.close("leaseInfo");
}

/// **Compat:** a map without entries carries the name of the Java class that an empty map has there.
fn metadata(w: &mut Writer<'_>, metadata: &Metadata) {
    if metadata.is_empty() {
        w.empty("metadata", Some(("class", EMPTY_MAP)));
    } else {
        entries(w, metadata.iter());
    }
}

fn entries<'a>(w: &mut Writer<'_>, entries: impl Iterator<Item = (&'a Box<str>, &'a Box<str>)>) {
    w.open("metadata", None);
    // No element can stand for an empty key. Decoders refuse one; a key from elsewhere must not break the document.
    for (key, value) in entries.filter(|(key, _)| !key.is_empty()) {
        w.text(&names::encode(key), value);
    }
    w.close("metadata");
}

pub(crate) fn replication_response(out: &mut Vec<u8>, response: &ReplicationListResponse) {
    let mut w = Writer::starting(out, Detail::Full, 0);
    w.open(RESPONSE_LIST, None);
    if response.responses.is_empty() {
        w.empty("responseList", None);
    } else {
        w.open("responseList", None);
        for answer in &response.responses {
            w.open(RESPONSE, None);
            w.number("statusCode", None, answer.status_code);
            if let Some(info) = &answer.response_entity {
                w.open("responseEntity", Some(("class", "com.netflix.appinfo.InstanceInfo")));
                full(&mut w, info.into());
                w.close("responseEntity");
            }
            w.close(RESPONSE);
        }
        w.close("responseList");
    }
    w.close(RESPONSE_LIST);
}
