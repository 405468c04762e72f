//! What is written is read back as it was, whatever it is; and whatever is read, nothing breaks.

use eurekad_wire::encode::{self, ApplicationsWriter};
use eurekad_wire::{
    AMAZON_COMPACT_KEYS, ActionType, AppName, Application, Applications, DataCenterInfo, Form, Format,
    InstanceInfo, InstanceStatus, LeaseInfo, Metadata, Port, ReplicationAction, ReplicationInstance,
    ReplicationInstanceResponse, ReplicationListResponse, Shown, decode, first_unwritable,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FULL: [Form; 2] = [Form::JSON, Form::XML];
const COMPACT: [Form; 2] = [Form::JSON_COMPACT, Form::XML_COMPACT];

/// Characters that JSON, XML or XStream's name coder give a meaning to, often; any others now and then.
fn character() -> impl Strategy<Value = char> {
    let meaningful: Vec<char> =
        "\"'\\/&;<>]![CDATA#x\r\n\t _$.-:@{},019azAZé名\u{7f}\u{85}\u{2028}\u{fffd}🦀".chars().collect();
    prop_oneof![
        3 => select(meaningful),
        1 => any::<char>().prop_filter("XML can hold it", |c| first_unwritable(c.encode_utf8(&mut [0; 4])).is_none()),
    ]
}

fn text() -> impl Strategy<Value = Box<str>> {
    vec(character(), 0..12).prop_map(|chars| chars.into_iter().collect::<String>().into())
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let key = text().prop_filter("a key that can be an entry", |key| !key.is_empty() && &**key != "@class");
    btree_map(key, text(), 0..5)
}

fn port() -> impl Strategy<Value = Port> {
    (any::<i32>(), any::<bool>()).prop_map(|(number, enabled)| Port { number, enabled })
}

fn data_center() -> impl Strategy<Value = DataCenterInfo> {
    let known = select(AMAZON_COMPACT_KEYS.to_vec()).prop_map(Box::from);
    let amazon = (metadata(), btree_map(known, text(), 0..3)).prop_map(|(mut metadata, known)| {
        metadata.extend(known);
        DataCenterInfo::Amazon(metadata)
    });
    prop_oneof![
        Just(DataCenterInfo::MyOwn),
        Just(DataCenterInfo::Netflix),
        Just(DataCenterInfo::Unnamed),
        amazon
    ]
}

fn lease() -> impl Strategy<Value = LeaseInfo> {
    (1..=i32::MAX, 1..=i32::MAX, any::<[i64; 4]>()).prop_map(|(interval, duration, times)| LeaseInfo {
        renewal_interval_secs: interval,
        duration_secs: duration,
        registration_timestamp: times[0],
        last_renewal_timestamp: times[1],
        eviction_timestamp: times[2],
        service_up_timestamp: times[3],
    })
}

fn status() -> impl Strategy<Value = InstanceStatus> {
    select(InstanceStatus::ALL.to_vec())
}

fn action() -> impl Strategy<Value = ActionType> {
    select(vec![ActionType::Added, ActionType::Modified, ActionType::Deleted])
}

/// Any instance that a decoder lets in.
fn instance() -> impl Strategy<Value = InstanceInfo> {
    let identity = (option::of(text()), text(), text(), text(), option::of(text()), option::of(text()));
    let state =
        (status(), status(), port(), port(), any::<i32>(), option::of(data_center()), option::of(lease()));
    let addresses = proptest::array::uniform7(option::of(text()));
    let rest = (metadata(), any::<bool>(), any::<i64>(), any::<i64>(), option::of(action()));
    (identity, state, addresses, rest).prop_map(|(identity, state, addresses, rest)| {
        let (instance_id, host_name, app, ip_addr, sid, group) = identity;
        let (status, overridden_status, port, secure_port, country_id, data_center_info, lease_info) = state;
        let [home_page, status_page, health, secure_health, vip, secure_vip, asg_name] = addresses;
        let (mut metadata, is_coordinating, last_updated_timestamp, last_dirty, action_type) = rest;
        if instance_id.is_none() {
            // It would become the id.
            metadata.remove("instanceId");
        }
        InstanceInfo {
            instance_id: instance_id.map(|id| (&*id).into()),
            host_name,
            ip_addr,
            sid: sid.filter(|sid| !matches!(&**sid, "na" | "unknown")),
            status,
            overridden_status,
            port,
            secure_port,
            country_id,
            data_center_info,
            lease_info,
            metadata,
            app_group_name: group.map(|group| group.to_uppercase().into()),
            home_page_url: home_page,
            status_page_url: status_page,
            health_check_url: health,
            secure_health_check_url: secure_health,
            vip_address: vip,
            secure_vip_address: secure_vip,
            is_coordinating_discovery_server: is_coordinating,
            last_updated_timestamp,
            last_dirty_timestamp: Some(last_dirty),
            action_type,
            asg_name,
            ..InstanceInfo::new((&*app).into())
        }
    })
}

/// What a compact document keeps of an instance.
fn compact(info: &InstanceInfo) -> InstanceInfo {
    let data_center_info = info.data_center_info.clone().map(|data_center| match data_center {
        DataCenterInfo::Amazon(mut metadata) => {
            metadata.retain(|key, _| AMAZON_COMPACT_KEYS.contains(&&**key));
            DataCenterInfo::Amazon(metadata)
        }
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix | DataCenterInfo::Unnamed => data_center,
    });
    InstanceInfo {
        instance_id: info.instance_id.clone(),
        host_name: info.host_name.clone(),
        ip_addr: info.ip_addr.clone(),
        status: info.status,
        port: info.port,
        secure_port: info.secure_port,
        data_center_info,
        vip_address: info.vip_address.clone(),
        secure_vip_address: info.secure_vip_address.clone(),
        last_updated_timestamp: info.last_updated_timestamp,
        action_type: info.action_type,
        asg_name: info.asg_name.clone(),
        ..InstanceInfo::new(info.app.clone())
    }
}

fn applications() -> impl Strategy<Value = Applications> {
    let application = (text(), vec(instance(), 0..3));
    (any::<i64>(), vec(application, 0..3)).prop_map(|(version, applications)| {
        let applications = applications
            .into_iter()
            .map(|(name, instances)| Application { name: (&*name).into(), instances });
        let mut all = Applications { version, hash_code: None, applications: applications.collect() };
        all.hash_code = Some(all.reconcile_hash_code().to_string());
        all
    })
}

fn replicated() -> impl Strategy<Value = ReplicationInstance> {
    let action = select(ReplicationAction::ALL.to_vec());
    (
        action,
        text(),
        text(),
        option::of(any::<i64>()),
        [option::of(text()), option::of(text())],
        option::of(instance()),
    )
        .prop_map(
            |(action, app, id, last_dirty_timestamp, [overridden_status, status], instance_info)| {
                let item = ReplicationInstance::new(action, AppName::new(&app), &id);
                ReplicationInstance { last_dirty_timestamp, overridden_status, status, instance_info, ..item }
            },
        )
}

fn written(form: Form, all: &Applications) -> Vec<u8> {
    let hash_code = all.hash_code.as_deref().unwrap_or_default();
    let mut writer = ApplicationsWriter::new(form, all.version, hash_code);
    for Application { name, instances } in &all.applications {
        writer.application(name, instances.iter().map(Shown::from));
    }
    writer.finish()
}

fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Lets every decoder read these bytes. An instance that is let in must be servable: every full document of it reads
/// back as itself.
fn read_by_all(bytes: &[u8]) {
    for format in [Format::Json, Format::Xml] {
        let _ = decode::application(format, bytes);
        let applications = decode::applications(format, bytes);
        let instance = decode::instance(format, bytes);
        for mut info in applications.iter().flat_map(Applications::instances).cloned().chain(instance) {
            info.last_dirty_timestamp.get_or_insert(0);
            for form in FULL {
                let again = decode::instance(form.format, &encode::instance(form, (&info).into()));
                assert_eq!(again.as_ref(), Ok(&info));
            }
        }
    }
    let _ = decode::replication_list(bytes);
    let _ = decode::replication_response(bytes);
}

proptest! {
    /// Catalog: E1, E2, E3, E4, E10, E11, E13, E14, E22
    #[test]
    fn every_instance_is_read_back_from_a_full_document_as_it_was(info in instance()) {
        for form in FULL {
            let document = encode::instance(form, (&info).into());
            let read = decode::instance(form.format, &document);
            prop_assert_eq!(read.as_ref(), Ok(&info), "{}", shown(&document));
        }
    }

    /// Catalog: E5, E6, E12, E15, E16
    #[test]
    fn a_compact_document_keeps_the_compact_fields_and_nothing_else(info in instance()) {
        for form in COMPACT {
            let document = encode::instance(form, (&info).into());
            let read = decode::instance(form.format, &document);
            prop_assert_eq!(read.as_ref(), Ok(&compact(&info)), "{}", shown(&document));
        }
    }

    /// Catalog: E2, E7
    #[test]
    fn the_override_is_read_in_either_spelling(info in instance()) {
        for form in FULL {
            let document = String::from_utf8(encode::instance(form, (&info).into())).unwrap();
            let respelt = match form.format {
                Format::Json => document.replacen("\"overriddenStatus\":", "\"overriddenstatus\":", 1),
                Format::Xml => document
                    .replacen("<overriddenstatus>", "<overriddenStatus>", 1)
                    .replacen("</overriddenstatus>", "</overriddenStatus>", 1),
            };
            prop_assert_ne!(&respelt, &document);
            let read = decode::instance(form.format, respelt.as_bytes());
            prop_assert_eq!(read.map(|i| i.overridden_status), Ok(info.overridden_status));
        }
    }

    /// Catalog: E1, E2, E3, E18
    /// Case: U09
    #[test]
    fn a_registry_is_read_back_with_its_hash_code(all in applications()) {
        for form in FULL {
            let read = decode::applications(form.format, &written(form, &all)).unwrap();
            prop_assert_eq!(Some(read.reconcile_hash_code().to_string()), read.hash_code.clone());
            prop_assert_eq!(&read, &all);
        }
        for form in COMPACT {
            let read = decode::applications(form.format, &written(form, &all)).unwrap();
            prop_assert_eq!(&read.hash_code, &all.hash_code);
            prop_assert_eq!(read.instances().count(), all.instances().count());
        }
        for Application { name, instances } in &all.applications {
            for form in FULL {
                let document = encode::application(form, name, instances.iter().map(Shown::from));
                let read = decode::application(form.format, &document).unwrap();
                prop_assert_eq!((&read.name, &read.instances), (name, instances));
            }
        }
    }

    /// Catalog: E9
    /// Catalog: C31
    #[test]
    fn a_batch_and_its_answer_are_read_back_as_they_were(
        items in vec(replicated(), 0..4),
        answers in vec((any::<u16>(), option::of(instance())), 0..4),
    ) {
        let read = decode::replication_list(&encode::replication_list(&items)).unwrap().items;
        prop_assert_eq!(read.into_iter().collect::<Result<Vec<_>, _>>(), Ok(items));
        let responses = answers.into_iter().map(|(status_code, response_entity)| {
            ReplicationInstanceResponse { status_code, response_entity }
        });
        let response = ReplicationListResponse { responses: responses.collect() };
        let document = encode::replication_response(Format::Json, &response);
        prop_assert_eq!(decode::replication_response(&document), Ok(response));
    }

    #[test]
    fn no_bytes_break_a_decoder(bytes in vec(any::<u8>(), 0..200), text in text()) {
        read_by_all(&bytes);
        read_by_all(text.as_bytes());
    }

    #[test]
    fn no_damage_to_a_document_breaks_a_decoder(
        all in applications(),
        item in replicated(),
        damages in vec((any::<Index>(), 0..6_u8, select(DEBRIS.to_vec())), 1..5),
    ) {
        let info = all.instances().next();
        let mut documents: Vec<_> = Form::ALL.into_iter().map(|form| written(form, &all)).collect();
        documents.extend(info.into_iter().flat_map(|info| FULL.map(|form| encode::instance(form, info.into()))));
        documents.push(encode::replication_list(&[item]));
        for mut document in documents {
            for (place, kind, debris) in &damages {
                let at = place.index(document.len().max(1)).min(document.len());
                let end = (at + usize::from(*kind) * 7).min(document.len());
                match kind {
                    0 => document.truncate(at),
                    1 => document.splice(at..at, debris.iter().copied()).for_each(drop),
                    2 => document.splice(at..end, debris.iter().copied()).for_each(drop),
                    3 => document.splice(at..end, []).for_each(drop),
                    4 => document.extend_from_within(at..end),
                    _ => document[at..].reverse(),
                }
            }
            read_by_all(&document);
        }
    }
}

/// Pieces of JSON and XML that mean something where they do not belong.
const DEBRIS: [&[u8]; 18] = [
    b"\"", b"{", b"}", b"[", b"]", b",", b":null,", b"\\u0000", b"\\ud800", b"1e999", b"<", b">", b"</",
    b"&#0;", b"]]>", b"<!--", b"\xff", b"\0",
];
