//! What servers tell each other, and what they answer.

use eurekad_wire::{
    Form, Format, LeaseInfo, ReplicationAction, ReplicationInstance, ReplicationInstanceResponse,
    ReplicationListResponse, decode, encode,
};

use super::records::{instance, replicated, text};

fn item(
    action: ReplicationAction,
    id: &str,
    timestamp: Option<i64>,
    overridden: Option<&str>,
    status: Option<&str>,
) -> ReplicationInstance {
    ReplicationInstance {
        last_dirty_timestamp: timestamp,
        overridden_status: overridden.map(Into::into),
        status: status.map(Into::into),
        ..ReplicationInstance::new(action, "FOO".into(), id)
    }
}

/// G16.
/// Catalog: E9, E30
/// Catalog: C31
#[test]
fn batches_carry_what_each_action_needs() {
    use ReplicationAction::{Cancel, DeleteStatusOverride, Heartbeat, Register, StatusUpdate};
    let (t0, t1) = (Some(1_700_000_000_000), Some(1_700_000_000_500));
    let mut register = item(Register, "foo-1", t0, None, Some("UP"));
    register.instance_info = Some(replicated());
    for (items, golden) in [
        (vec![register], golden!("g16-register.json")),
        (
            vec![
                item(Heartbeat, "foo-1", t1, Some("OUT_OF_SERVICE"), Some("OUT_OF_SERVICE")),
                item(Heartbeat, "foo-2", t0, None, Some("UP")),
            ],
            golden!("g16-heartbeat.json"),
        ),
        (
            vec![
                item(StatusUpdate, "foo-1", t1, None, Some("OUT_OF_SERVICE")),
                item(DeleteStatusOverride, "foo-3", t1, None, Some("UP")),
            ],
            golden!("g16-status.json"),
        ),
        (vec![item(Cancel, "foo-1", None, None, None)], golden!("g16-cancel.json")),
    ] {
        assert_eq!(text(encode::replication_list(&items)), golden);
        let read = decode::replication_list(golden.as_bytes()).unwrap().items;
        assert_eq!(read.into_iter().collect::<Result<Vec<_>, _>>(), Ok(items));
    }
}

/// G17.
/// Catalog: E9, E30
/// Catalog: C31
#[test]
fn the_answer_to_a_batch() {
    let mut newer = replicated();
    newer.lease_info = newer.lease_info.map(|l| LeaseInfo { last_renewal_timestamp: 1_700_000_150_000, ..l });
    let answer = |status_code, response_entity| ReplicationInstanceResponse { status_code, response_entity };
    let response = ReplicationListResponse {
        responses: vec![answer(200, None), answer(404, None), answer(409, Some(newer))],
    };
    let golden = golden!("g17-response.json");
    assert_eq!(text(encode::replication_response(Format::Json, &response)), golden);
    assert_eq!(decode::replication_response(golden.as_bytes()), Ok(response));
}

#[test]
fn the_answer_to_a_batch_in_xml() {
    let answer = |status_code, response_entity| ReplicationInstanceResponse { status_code, response_entity };
    let mut response = ReplicationListResponse { responses: vec![answer(200, None)] };
    assert_eq!(
        text(encode::replication_response(Format::Xml, &response)),
        "<com.netflix.eureka.cluster.protocol.ReplicationListResponse>\n  \
           <responseList>\n    \
             <com.netflix.eureka.cluster.protocol.ReplicationInstanceResponse>\n      \
               <statusCode>200</statusCode>\n    \
             </com.netflix.eureka.cluster.protocol.ReplicationInstanceResponse>\n  \
           </responseList>\n\
         </com.netflix.eureka.cluster.protocol.ReplicationListResponse>"
    );
    response.responses = vec![answer(409, Some(replicated()))];
    let xml = text(encode::replication_response(Format::Xml, &response));
    let fields = instance(Form::XML, &replicated());
    let fields = fields.strip_prefix("<instance>\n").unwrap().strip_suffix("\n</instance>").unwrap();
    let entity = format!(
        "\n      <responseEntity class=\"com.netflix.appinfo.InstanceInfo\">\n      {}\n      </responseEntity>\n",
        fields.replace('\n', "\n      ")
    );
    assert!(xml.contains(&entity), "{xml}");
    response.responses.clear();
    assert!(text(encode::replication_response(Format::Xml, &response)).contains("\n  <responseList/>\n"));
}
