//! Whatever a client or a peer does as often as it can: the log does not grow with it.

use crate::log::Log;
use crate::net::{Net, STRANGER, TELL, pair, pass_ms};

#[tokio::test(start_paused = true)]
async fn a_flood_of_status_calls_has_one_line_a_second_that_says_how_many_there_were() {
    let (a, _b) = pair(&Net::default()).await;
    a.register_for_long("x").await;
    let log = Log::default();
    let _logged = log.begin();
    for round in 0..3 {
        for n in 0..100 {
            let status = if n % 2 == 0 { "OUT_OF_SERVICE" } else { "DOWN" };
            assert_eq!(a.set_status("x", status).await, 200);
        }
        assert_eq!(log.lines_with("a status was set from outside").len(), round + 1);
        pass_ms(1_000).await;
    }
    let lines = log.lines_with("a status was set from outside");
    assert!(!lines[0].contains("suppressed") && lines[1].contains("suppressed=99"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn nodes_whose_clock_is_wrong_have_one_line_a_minute_however_often_they_call() {
    let (a, _b) = pair(&Net::default()).await;
    let log = Log::default();
    let _logged = log.begin();
    let ahead = format!("{}.0.1", a.epoch_millis() + 50 * 3_600_000);
    for _ in 0..120 {
        for _ in 0..10 {
            let headers = [("eurekad-node", STRANGER), ("eurekad-clock", ahead.as_str())];
            assert_eq!(a.post(TELL, &headers, r#"{"asks":false,"keys":[]}"#.to_owned()).await.0, 400);
        }
        pass_ms(1_000).await;
    }
    let lines = log.lines_with("a node's call is refused");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains("suppressed=599"), "{lines:?}");
}
