//! An instance.

use super::super::source::Source;
use super::parts::{data_center, lease, metadata, port};
use super::values::{number, plain, status, text, word};
use crate::decode::{action_type, meaningful_sid, take_id_from_metadata};
use crate::{AppName, DecodeError, InstanceId, InstanceInfo};

/// The instance in the present element. Of two equal elements the later one counts.
pub(super) fn instance(source: &mut Source<'_>) -> Result<InstanceInfo, DecodeError> {
    let mut info = InstanceInfo::new(AppName::new(""));
    let mut app = None;
    while let Some(element) = source.child()? {
        match element.local_name().as_ref() {
            "app" => app = Some(text(source, AppName::new)?),
            "instanceId" => info.instance_id = Some(text(source, InstanceId::new)?),
            "hostName" => info.host_name = plain(source)?,
            "ipAddr" => info.ip_addr = plain(source)?,
            "sid" => info.sid = text(source, meaningful_sid)?,
            "status" => info.status = status(source)?,
            "overriddenstatus" | "overriddenStatus" => info.overridden_status = status(source)?,
            "port" => info.port = port(source, &element, |enabled| enabled != Some("false"))?,
            "securePort" => info.secure_port = port(source, &element, |enabled| enabled == Some("true"))?,
            "countryId" => info.country_id = number(source)?,
            "dataCenterInfo" => info.data_center_info = Some(data_center(source)?),
            "leaseInfo" => info.lease_info = Some(lease(source)?),
            "metadata" => info.metadata = metadata(source)?,
            "appGroupName" => info.app_group_name = Some(text(source, |t| t.to_uppercase().into())?),
            "homePageUrl" => info.home_page_url = Some(plain(source)?),
            "statusPageUrl" => info.status_page_url = Some(plain(source)?),
            "healthCheckUrl" => info.health_check_url = Some(plain(source)?),
            "secureHealthCheckUrl" => info.secure_health_check_url = Some(plain(source)?),
            "vipAddress" => info.vip_address = Some(plain(source)?),
            "secureVipAddress" => info.secure_vip_address = Some(plain(source)?),
            "isCoordinatingDiscoveryServer" => {
                info.is_coordinating_discovery_server =
                    word(source, |word| word.eq_ignore_ascii_case("true"))?;
            }
            "lastUpdatedTimestamp" => info.last_updated_timestamp = number(source)?,
            "lastDirtyTimestamp" => info.last_dirty_timestamp = Some(number(source)?),
            "actionType" => info.action_type = word(source, action_type)?,
            "asgName" => info.asg_name = Some(plain(source)?),
            _ => source.skip()?,
        }
    }
    info.app = app.ok_or_else(|| source.fault_below("app", "missing"))?;
    take_id_from_metadata(&mut info);
    Ok(info)
}

#[cfg(test)]
mod tests {
    use crate::xml::decode::{
        instance,
        testing::{refused, with},
    };
    use crate::{ActionType, InstanceInfo, InstanceStatus};

    #[test]
    fn what_is_not_said_has_eurekas_defaults() {
        assert_eq!(instance("<instance><app>a</app></instance>").unwrap(), InstanceInfo::new("A".into()));
        assert_eq!(with("<hostName/><ipAddr></ipAddr><metadata/>").unwrap(), InstanceInfo::new("A".into()));
        for empty in ["<instance/>", "<instance></instance>", "<instance><name>A</name></instance>"] {
            assert_eq!(instance(empty).unwrap_err().to_string(), "instance.app: missing");
        }
        assert!(instance("<instance><app/></instance>").unwrap().app.is_empty());
    }

    /// Catalog: E7, E31
    #[test]
    fn a_status_may_be_in_any_case_and_both_spellings_of_the_override_are_read() {
        for (word, status) in [
            ("UP", InstanceStatus::Up),
            ("up", InstanceStatus::Up),
            ("Out_Of_Service", InstanceStatus::OutOfService),
            ("\n  DOWN\n", InstanceStatus::Down),
            ("BROKEN", InstanceStatus::Unknown),
            ("", InstanceStatus::Unknown),
        ] {
            for name in ["overriddenstatus", "overriddenStatus"] {
                let info = with(&format!("<status>{word}</status><{name}>{word}</{name}>")).unwrap();
                assert_eq!((info.status, info.overridden_status), (status, status), "{word:?}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_whole_numbers() {
        let info =
            with("<countryId> 44\n</countryId><lastUpdatedTimestamp>7</lastUpdatedTimestamp>").unwrap();
        assert_eq!((info.country_id, info.last_updated_timestamp, info.last_dirty_timestamp), (44, 7, None));
        let dirty =
            with("<lastDirtyTimestamp>1700000000000</lastDirtyTimestamp>").unwrap().last_dirty_timestamp;
        assert_eq!(dirty, Some(1_700_000_000_000));
        for (element, problem) in [
            (
                "<countryId>x</countryId>",
                "instance.countryId (line 1, column 47): expected a whole number, found \"x\"",
            ),
            ("<countryId/>", "expected a whole number, found \"\""),
            ("<countryId>1.0</countryId>", "expected a whole number"),
            ("<countryId>2147483648</countryId>", "2147483648 is out of range"),
            ("<lastDirtyTimestamp>soon</lastDirtyTimestamp>", "instance.lastDirtyTimestamp ("),
            ("<lastUpdatedTimestamp>9223372036854775808</lastUpdatedTimestamp>", "out of range"),
        ] {
            assert!(refused(element).contains(problem), "{}", refused(element));
        }
    }

    #[test]
    fn text_keeps_its_spaces_and_holds_no_elements() {
        let info = with("<vipAddress> a </vipAddress><asgName></asgName><homePageUrl/>").unwrap();
        assert_eq!(info.vip_address.as_deref(), Some(" a "));
        assert_eq!((info.asg_name.as_deref(), info.home_page_url.as_deref()), (Some(""), Some("")));
        let error = refused("<hostName>a<b>c</b></hostName>");
        assert!(
            error.starts_with("instance.hostName (") && error.ends_with("expected text, found <b>"),
            "{error}"
        );
    }

    #[test]
    fn unknown_elements_are_skipped_and_of_equal_ones_the_later_counts() {
        let info = with(
            "<x><app>X</app><y/></x>stray<hostName>a</hostName><z/><hostName>b</hostName><app>c</app>
             <metadata><k>1</k></metadata><metadata><l>2</l><l>3</l></metadata>",
        )
        .unwrap();
        assert_eq!((&*info.host_name, info.app.as_str()), ("b", "C"));
        assert_eq!(info.metadata, [("l".into(), "3".into())].into());
    }

    #[test]
    fn words_are_read_as_in_json() {
        let info = with(
            "<sid>na</sid><actionType> ADDED </actionType><appGroupName>g</appGroupName>
             <isCoordinatingDiscoveryServer>True</isCoordinatingDiscoveryServer>",
        )
        .unwrap();
        assert_eq!((info.sid, info.action_type), (None, Some(ActionType::Added)));
        assert_eq!(info.app_group_name.as_deref(), Some("G"));
        assert!(info.is_coordinating_discovery_server);
        assert_eq!(with("<sid>s</sid>").unwrap().sid.as_deref(), Some("s"));
        assert_eq!(with("<actionType>REMOVED</actionType>").unwrap().action_type, None);
    }

    /// Catalog: E32
    #[test]
    fn springs_id_in_the_metadata_counts_if_there_is_no_other() {
        let info = with("<hostName>hm</hostName><metadata><instanceId>abc</instanceId></metadata>").unwrap();
        assert_eq!(info.id(), "hm:abc");
    }
}
