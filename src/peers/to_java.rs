//! Telling a Java server: Eureka's batches.

use eurekad_wire::ReplicationInstance;

use super::messages::{self, Sent, Verdict};
use super::node::{Answers, PeerEurekaNode, Refused};
use super::problem::Problem;
use super::queue::Flags;
use crate::registry::Key;

impl PeerEurekaNode {
    /// Sends what these keys come to. `None` if that is nothing.
    pub(super) async fn tell_java(&self, keys: &[(Key, Flags)]) -> Result<Option<Answers>, Problem> {
        let (registry, now) = (&self.wiring().registry, self.wiring().clock.tick());
        let sent: Vec<Sent> =
            keys.iter().flat_map(|(key, flags)| messages::items(registry, now, key, *flags)).collect();
        if sent.is_empty() {
            return Ok(None);
        }
        let items: Vec<ReplicationInstance> = sent.iter().map(|sent| sent.item.clone()).collect();
        let answer = self.batch(&items).await?;
        let mut answers = Answers::default();
        for (sent, answer) in sent.iter().zip(answer.responses) {
            match messages::judge(registry, sent, answer) {
                Verdict::Done => {}
                Verdict::Foreign => {
                    if let Some(suppressed) = self.logged().foreign_record.admit(now) {
                        let (app, id) = (&sent.key.app, &sent.key.id);
                        tracing::warn!(
                            peer = %self.url(), ?app, ?id, suppressed = suppressed.times(),
                            "the peer answered with another instance's record; ignored"
                        );
                    }
                }
                // An override goes with the record, and counts where none is set: the peer may know better.
                Verdict::SendRecord => {
                    answers.again.push((sent.key.clone(), Flags { record: true, ..Flags::default() }));
                }
                Verdict::Refused(code) => answers.refused.push(Refused {
                    key: sent.key.clone(),
                    what: sent.item.action.as_str(),
                    code,
                    why: None,
                }),
            }
        }
        Ok(Some(answers))
    }
}
