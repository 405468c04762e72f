//! Writing JSON.
//!
//! **Compat:** full documents are those of `LegacyJacksonJson` and compact ones those of `JacksonJsonMini`. The two
//! differ in field order and in scalar types: a full document has its instance's timestamps and
//! `isCoordinatingDiscoveryServer` as strings, a compact one has its timestamp as a number. `@enabled` is a string
//! in both.

use super::object::{Object, array};
use crate::{
    AMAZON_COMPACT_KEYS, ActionType, AppName, DataCenterInfo, Detail, InstanceId, InstanceInfo, LeaseInfo,
    Metadata, Port, ReplicationInstance, ReplicationListResponse, Shown,
};

pub(crate) fn instance(out: &mut Vec<u8>, detail: Detail, shown: Shown<'_>) {
    out.extend_from_slice(b"{\"instance\":");
    instance_fields(out, detail, shown);
    out.push(b'}');
}

pub(crate) fn application<'a>(
    out: &mut Vec<u8>,
    detail: Detail,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    out.extend_from_slice(b"{\"application\":");
    piece(out, detail, name, instances);
    out.push(b'}');
}

pub(crate) fn head(out: &mut Vec<u8>, detail: Detail, version: i64, hash_code: &str) {
    out.extend_from_slice(b"{\"applications\":");
    let mut applications = Object::open(out);
    if detail == Detail::Full {
        versions(&mut applications, version, hash_code);
    }
    applications.member("application").push(b'[');
}

pub(crate) fn tail(out: &mut Vec<u8>, detail: Detail, version: i64, hash_code: &str) {
    out.push(b']');
    if detail == Detail::Compact {
        let mut rest = Object::resume(out);
        versions(&mut rest, version, hash_code);
    }
    out.extend_from_slice(b"}}");
}

fn versions(applications: &mut Object<'_>, version: i64, hash_code: &str) {
    applications.quoted_number("versions__delta", version);
    applications.text("apps__hashcode", hash_code);
}

/// **Compat:** `instance` is an array even for one instance; some old codecs collapse it to an object.
pub(crate) fn piece<'a>(
    out: &mut Vec<u8>,
    detail: Detail,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    let mut application = Object::open(out);
    application.text("name", name.as_str());
    array(application.member("instance"), instances, |out, shown| instance_fields(out, detail, shown));
    application.close();
}

pub(crate) fn instance_fields(out: &mut Vec<u8>, detail: Detail, shown: Shown<'_>) {
    match detail {
        Detail::Full => full(out, shown),
        Detail::Compact => compact(out, shown.info),
    }
}

fn full(out: &mut Vec<u8>, shown: Shown<'_>) {
    let info = shown.info;
    let mut o = Object::open(out);
    o.optional("instanceId", info.instance_id.as_ref().map(InstanceId::as_str));
    o.text_or_null("hostName", &info.host_name);
    o.text("app", info.app.as_str());
    o.text_or_null("ipAddr", &info.ip_addr);
    o.optional("sid", info.sid.as_deref());
    o.text("status", info.status.as_str());
    o.text("overriddenStatus", info.overridden_status.as_str());
    port(o.member("port"), info.port);
    port(o.member("securePort"), info.secure_port);
    o.number("countryId", info.country_id);
    if let Some(data_center) = &info.data_center_info {
        data_center_info(o.member("dataCenterInfo"), data_center, Detail::Full);
    }
    if let Some(lease) = shown.lease() {
        lease_info(o.member("leaseInfo"), lease);
    }
    metadata(o.member("metadata"), &info.metadata);
    o.optional("appGroupName", info.app_group_name.as_deref());
    o.optional("homePageUrl", info.home_page_url.as_deref());
    o.optional("statusPageUrl", info.status_page_url.as_deref());
    o.optional("healthCheckUrl", info.health_check_url.as_deref());
    o.optional("secureHealthCheckUrl", info.secure_health_check_url.as_deref());
    o.optional("vipAddress", info.vip_address.as_deref());
    o.optional("secureVipAddress", info.secure_vip_address.as_deref());
    o.quoted_bool("isCoordinatingDiscoveryServer", info.is_coordinating_discovery_server);
    o.quoted_number("lastUpdatedTimestamp", info.last_updated_timestamp);
    o.quoted_number("lastDirtyTimestamp", info.last_dirty_timestamp.unwrap_or(0));
    o.optional("actionType", info.action_type.map(ActionType::as_str));
    o.optional("asgName", info.asg_name.as_deref());
    o.close();
}

fn compact(out: &mut Vec<u8>, info: &InstanceInfo) {
    let mut o = Object::open(out);
    o.optional("instanceId", info.instance_id.as_ref().map(InstanceId::as_str));
    o.text("app", info.app.as_str());
    o.text_or_null("ipAddr", &info.ip_addr);
    o.optional("vipAddress", info.vip_address.as_deref());
    o.optional("secureVipAddress", info.secure_vip_address.as_deref());
    if let Some(data_center) = &info.data_center_info {
        data_center_info(o.member("dataCenterInfo"), data_center, Detail::Compact);
    }
    o.text_or_null("hostName", &info.host_name);
    o.text("status", info.status.as_str());
    o.number("lastUpdatedTimestamp", info.last_updated_timestamp);
    o.optional("actionType", info.action_type.map(ActionType::as_str));
    o.optional("asgName", info.asg_name.as_deref());
    port(o.member("port"), info.port);
    port(o.member("securePort"), info.secure_port);
    o.close();
}

fn port(out: &mut Vec<u8>, port: Port) {
    let mut o = Object::open(out);
    o.number("$", port.number);
    o.quoted_bool("@enabled", port.enabled);
    o.close();
}

/// **Compat:** `@class` comes first, because the Java decoder reads fastest then. An empty Amazon metadata is a plain
/// `{}`, unlike an instance's own.
fn data_center_info(out: &mut Vec<u8>, data_center: &DataCenterInfo, detail: Detail) {
    let mut o = Object::open(out);
    o.text("@class", data_center.class());
    o.optional("name", data_center.name());
    if let DataCenterInfo::Amazon(metadata) = data_center {
        let mut entries = Object::open(o.member("metadata"));
        let kept = |key: &str| detail == Detail::Full || AMAZON_COMPACT_KEYS.contains(&key);
        metadata.iter().filter(|(key, _)| kept(key)).for_each(|(key, value)| entries.entry(key, value));
        entries.close();
    }
    o.close();
}

fn lease_info(out: &mut Vec<u8>, lease: LeaseInfo) {
    let mut o = Object::open(out);
    o.number("renewalIntervalInSecs", lease.renewal_interval_secs);
    o.number("durationInSecs", lease.duration_secs);
    o.number("registrationTimestamp", lease.registration_timestamp);
    o.number("lastRenewalTimestamp", lease.last_renewal_timestamp);
    o.number("evictionTimestamp", lease.eviction_timestamp);
    o.number("serviceUpTimestamp", lease.service_up_timestamp);
    o.close();
}

/// **Compat:** a map without entries carries the name of the Java class that an empty map has there; clients drop it.
fn metadata(out: &mut Vec<u8>, metadata: &Metadata) {
    let mut o = Object::open(out);
    if metadata.is_empty() {
        o.text("@class", "java.util.Collections$EmptyMap");
    }
    metadata.iter().for_each(|(key, value)| o.entry(key, value));
    o.close();
}

pub(crate) fn replication_list(out: &mut Vec<u8>, items: &[ReplicationInstance]) {
    let mut list = Object::open(out);
    array(list.member("replicationList"), items, |out, item| {
        let mut o = Object::open(out);
        o.text("appName", item.app_name.as_str());
        o.text("id", &item.id);
        if let Some(timestamp) = item.last_dirty_timestamp {
            o.number("lastDirtyTimestamp", timestamp);
        }
        o.optional("overriddenStatus", item.overridden_status.as_deref());
        o.optional("status", item.status.as_deref());
        if let Some(info) = &item.instance_info {
            full(o.member("instanceInfo"), info.into());
        }
        o.text("action", item.action.as_str());
        o.close();
    });
    list.close();
}

pub(crate) fn replication_response(out: &mut Vec<u8>, response: &ReplicationListResponse) {
    let mut list = Object::open(out);
    array(list.member("responseList"), &response.responses, |out, answer| {
        let mut o = Object::open(out);
        o.number("statusCode", answer.status_code);
        if let Some(info) = &answer.response_entity {
            full(o.member("responseEntity"), info.into());
        }
        o.close();
    });
    list.close();
}
