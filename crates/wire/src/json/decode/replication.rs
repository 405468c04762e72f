//! Batches and their answers.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::applications::List;
use super::instance::Instance;
use super::number::StrictNumber;
use super::scalar::Scalar;
use super::skip::skip;
use super::{join, missing, read};
use crate::decode::MAX_BATCH_ITEMS;
use crate::{
    AppName, DecodeError, ReplicationAction, ReplicationInstance, ReplicationInstanceResponse,
    ReplicationList, ReplicationListResponse,
};

pub(crate) fn replication_list(text: &str) -> Result<ReplicationList, DecodeError> {
    let Batch(items) = read(text, PhantomData::<Batch<'_>>)?;
    if items.len() > MAX_BATCH_ITEMS {
        let problem = format!("{} items, at most {MAX_BATCH_ITEMS} are taken at once", items.len());
        return Err(DecodeError::new("replicationList", problem));
    }
    let items = items.into_iter().enumerate().map(|(i, json)| {
        read(json.get(), PhantomData::<Item>).map(|item| item.0).map_err(|fault| {
            // Line and column would count from the item's beginning.
            DecodeError::at(&join(&format!("replicationList[{i}]"), &fault.path), None, fault.problem)
        })
    });
    Ok(ReplicationList { items: items.collect() })
}

pub(crate) fn replication_response(text: &str) -> Result<ReplicationListResponse, DecodeError> {
    let Answers(responses) = read(text, PhantomData::<Answers>)?;
    Ok(ReplicationListResponse { responses })
}

/// A batch, split into its items and no further.
struct Batch<'de>(Vec<&'de RawValue>);

impl<'de> Deserialize<'de> for Batch<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(BatchVisitor)
    }
}

struct BatchVisitor;

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Batch<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `replicationList`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Batch<'de>, M::Error> {
        let mut items = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "replicationList" {
                items = Some(map.next_value()?);
            } else {
                skip(&mut map)?;
            }
        }
        items.map(Batch).ok_or_else(|| missing("replicationList"))
    }
}

/// One item of a batch.
struct Item(ReplicationInstance);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of a replicated action")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Item, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "camelCase")]
        enum Key {
            AppName,
            Id,
            LastDirtyTimestamp,
            #[serde(alias = "overriddenstatus")]
            OverriddenStatus,
            Status,
            InstanceInfo,
            Action,
            #[serde(other)]
            Unknown,
        }
        let (mut app_name, mut id, mut action) = (None, None, None);
        let (mut last_dirty_timestamp, mut overridden_status, mut status) = (None, None, None);
        let mut instance_info = None;
        while let Some(key) = map.next_key()? {
            match key {
                Key::AppName => app_name = map.next_value::<Scalar<'_>>()?.into_text().or(app_name),
                Key::Id => id = map.next_value::<Scalar<'_>>()?.into_text().or(id),
                Key::LastDirtyTimestamp => {
                    last_dirty_timestamp = map.next_value::<StrictNumber<_>>()?.0.or(last_dirty_timestamp);
                }
                Key::OverriddenStatus => {
                    overridden_status = map.next_value::<Scalar<'_>>()?.into_text().or(overridden_status);
                }
                Key::Status => status = map.next_value::<Scalar<'_>>()?.into_text().or(status),
                Key::InstanceInfo => {
                    instance_info = map.next_value::<Option<Instance>>()?.or(instance_info);
                }
                Key::Action => action = map.next_value::<Option<Action>>()?.or(action),
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(Item(ReplicationInstance {
            app_name: AppName::new(&app_name.ok_or_else(|| missing("appName"))?),
            id: id.ok_or_else(|| missing("id"))?.into(),
            last_dirty_timestamp,
            overridden_status: overridden_status.map(Box::from),
            status: status.map(Box::from),
            instance_info: instance_info.map(|i| i.0),
            action: action.ok_or_else(|| missing("action"))?.0,
        }))
    }
}

/// One of the words for an action.
struct Action(ReplicationAction);

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let word = String::deserialize(json)?;
        ReplicationAction::ALL
            .into_iter()
            .find(|a| a.as_str() == word)
            .map(Self)
            .ok_or_else(|| de::Error::custom(format_args!("no action is called {word:?}")))
    }
}

/// The answers to a batch.
struct Answers(Vec<ReplicationInstanceResponse>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(AnswersVisitor)
    }
}

struct AnswersVisitor;

impl<'de> Visitor<'de> for AnswersVisitor {
    type Value = Answers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `responseList`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Answers, M::Error> {
        let mut answers = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "responseList" {
                answers = map.next_value::<List<Answer>>()?.0.into_iter().map(|a| a.0).collect();
            } else {
                skip(&mut map)?;
            }
        }
        Ok(Answers(answers))
    }
}

/// The answer to one item.
struct Answer(ReplicationInstanceResponse);

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(AnswerVisitor)
    }
}

struct AnswerVisitor;

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Answer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `statusCode`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Answer, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "camelCase")]
        enum Key {
            StatusCode,
            ResponseEntity,
            #[serde(other)]
            Unknown,
        }
        let (mut status_code, mut response_entity) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                Key::StatusCode => status_code = map.next_value::<StrictNumber<_>>()?.0.or(status_code),
                Key::ResponseEntity => {
                    // Other peers answer with a word or a number there, or with an instance that is refused here; the
                    // answers beside it count all the same.
                    let json = map.next_value::<&RawValue>()?;
                    let read = read(json.get(), PhantomData::<List<Instance>>).ok();
                    response_entity = read.and_then(|mut list| list.0.pop()).or(response_entity);
                }
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(Answer(ReplicationInstanceResponse {
            status_code: status_code.ok_or_else(|| missing("statusCode"))?,
            response_entity: response_entity.map(|i| i.0),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(json: &str) -> Vec<Result<ReplicationInstance, String>> {
        let list = replication_list(&format!(r#"{{"replicationList":[{json}]}}"#)).unwrap();
        list.items.into_iter().map(|item| item.map_err(|e| e.to_string())).collect()
    }

    fn refused(item: &str) -> String {
        let good = r#"{"appName":"A","id":"a","action":"Cancel"}"#;
        let mut items = items(&format!("{good},{item},{good}"));
        assert_eq!(items.len(), 3);
        assert!(items[0].is_ok() && items[2].is_ok(), "a bad item must spoil no other");
        items.swap_remove(1).expect_err(item)
    }

    #[test]
    fn an_item_is_read_with_all_it_carries() {
        let json = r#"{"extra":{"x":[]},"appName":"orders","id":"a","lastDirtyTimestamp":"7","overriddenStatus":"DOWN",
            "status":"UP","instanceInfo":{"app":"ORDERS","instanceId":"a"},"action":"Register"}"#;
        let mut expected = ReplicationInstance::new(ReplicationAction::Register, "ORDERS".into(), "a");
        expected.last_dirty_timestamp = Some(7);
        expected.overridden_status = Some("DOWN".into());
        expected.status = Some("UP".into());
        let mut info = crate::InstanceInfo::new("ORDERS".into());
        info.instance_id = Some("a".into());
        expected.instance_info = Some(info);
        assert_eq!(items(json), [Ok(expected)]);
        let json = r#"{"appName":"A","id":"a","lastDirtyTimestamp":null,"overriddenStatus":null,"status":null,
            "instanceInfo":null,"action":"Cancel"}"#;
        assert_eq!(items(json), [Ok(ReplicationInstance::new(ReplicationAction::Cancel, "A".into(), "a"))]);
    }

    #[test]
    fn a_bad_item_has_its_error_in_its_place() {
        for (item, error) in [
            (
                r#"{"appName":"A","id":"a","action":"Explode"}"#,
                r#"replicationList[1].action: no action is called "Explode""#,
            ),
            (
                r#"{"appName":"A","id":"a","action":"heartbeat"}"#,
                r#"replicationList[1].action: no action is called "heartbeat""#,
            ),
            (r#"{"appName":"A","id":"a"}"#, "replicationList[1].action: missing"),
            (r#"{"appName":"A","id":"a","action":null}"#, "replicationList[1].action: missing"),
            (r#"{"id":"a","action":"Cancel"}"#, "replicationList[1].appName: missing"),
            (r#"{"appName":"A","id":null,"action":"Cancel"}"#, "replicationList[1].id: missing"),
            (
                r#"{"appName":"A","id":"a","lastDirtyTimestamp":"soon","action":"Cancel"}"#,
                "replicationList[1].lastDirtyTimestamp: expected a whole number, found text that is none",
            ),
            (
                r#"{"appName":"A","id":"a","lastDirtyTimestamp":1.5,"action":"Cancel"}"#,
                "replicationList[1].lastDirtyTimestamp: expected a whole number, found 1.5",
            ),
            (
                r#"{"appName":"A","id":"a","instanceInfo":{},"action":"Register"}"#,
                "replicationList[1].instanceInfo.app: missing",
            ),
            (
                r#"{"appName":"A","id":"a","instanceInfo":{"app":"A","metadata":{"k":[]}},"action":"Register"}"#,
                "replicationList[1].instanceInfo.metadata.k: expected text, found an array",
            ),
            (
                r#"{"appName":"A","id":"a\u0000","action":"Cancel"}"#,
                "replicationList[1].id: the character U+0000 is not allowed",
            ),
            (
                r#"{"appName":"A","id":"a","status":"\uffff","action":"Cancel"}"#,
                "replicationList[1].status: the character U+FFFF is not allowed",
            ),
            ("null", "replicationList[1]: invalid type: null, expected an object of a replicated action"),
            ("7", "replicationList[1]: invalid type: integer `7`, expected an object of a replicated action"),
        ] {
            assert_eq!(refused(item), error);
        }
    }

    #[test]
    fn what_is_no_batch_is_refused_as_a_whole() {
        for (json, error) in [
            ("{}", "replicationList: missing"),
            (
                r#"{"replicationList":null}"#,
                "replicationList (line 1, column 23): invalid type: null, expected a sequence",
            ),
            (
                r#"{"replicationList":{}}"#,
                "replicationList (line 1, column 19): invalid type: map, expected a sequence",
            ),
            ("[]", "line 1, column 1: invalid type: sequence, expected an object with a `replicationList`"),
        ] {
            assert_eq!(replication_list(json).unwrap_err().to_string(), error);
        }
        for json in
            ["", "{", r#"{"replicationList":[{]}"#, r#"{"replicationList":[]}x"#, "<replicationList/>"]
        {
            assert!(replication_list(json).is_err(), "{json}");
        }
        assert_eq!(replication_list(r#"{"replicationList":[],"x":{}}"#), Ok(ReplicationList::default()));
    }

    /// Catalog: E9
    #[test]
    fn answers_are_read_leniently() {
        let read = |json: &str| {
            let answers = replication_response(json).map_err(|e| e.to_string())?.responses;
            Ok::<_, String>(
                answers.into_iter().map(|a| (a.status_code, a.response_entity.is_some())).collect::<Vec<_>>(),
            )
        };
        for (json, expected) in [
            (
                r#"{"responseList":[{"statusCode":200},{"statusCode":"404","x":[]}]}"#,
                vec![(200, false), (404, false)],
            ),
            (r#"{"responseList":[{"statusCode":409,"responseEntity":{"app":"A"}}]}"#, vec![(409, true)]),
            (r#"{"responseList":{"statusCode":200,"responseEntity":null}}"#, vec![(200, false)]),
            (r#"{"responseList":[{"statusCode":200,"responseEntity":"text"}]}"#, vec![(200, false)]),
            (r#"{"responseList":[]}"#, vec![]),
            (r#"{"responseList":null,"x":{}}"#, vec![]),
            ("{}", vec![]),
        ] {
            assert_eq!(read(json), Ok(expected), "{json}");
        }
        assert_eq!(read(r#"{"responseList":[{}]}"#).unwrap_err(), "responseList[0].statusCode: missing");
        assert!(read(r#"{"responseList":[{"statusCode":70000}]}"#).unwrap_err().contains("out of range"));
        assert!(read(r#"{"responseList":[{"statusCode":-1}]}"#).unwrap_err().contains("out of range"));
        assert!(read("[]").is_err());
    }
}
