//! Peers by Eureka's TXT records: one lists the zones of a region, and one for each zone lists its hosts.
//!
//! **Compat:** `txt.<region>.<domain>` lists names such as `us-east-1c.example.com`, whose first label is the zone; the
//! hosts of that zone stand in `txt.us-east-1c.example.com`. Names are separated by spaces, or each in a text of its own;
//! each text may stand in quotes. Java gives up at its start if one of these does not resolve, and spreads its load by
//! rotating the lists; a server talks to all of its peers, so the order does not matter here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use futures_util::future::join_all;

use super::resolve::Resolve;
use crate::settings::{PeerUrl, TxtRecords, in_order_of_preference};

/// The most names that one record may list.
const MAX_NAMES: usize = 1000;

/// What TXT records listed when they were last readable, by name.
pub(super) type Known = HashMap<String, BTreeSet<String>>;

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) urls: Vec<PeerUrl>,
    /// What could not be read, by name, and why.
    pub(super) complaints: BTreeMap<String, String>,
    /// What is known now.
    pub(super) known: Known,
}

/// Reads the records. Those that cannot be read now are taken to list what they listed before.
pub(super) async fn read(records: &TxtRecords, resolver: &dyn Resolve, before: &Known) -> Read {
    let mut read = Read { urls: Vec::new(), complaints: BTreeMap::new(), known: Known::new() };
    let zones = read.take(&records.name, resolver.texts(&records.name).await, before, Lists::Zones);
    let mut by_zone: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in zones {
        let name = name.trim_start_matches("txt.");
        let zone = name.split('.').next().unwrap_or(name);
        by_zone.entry(zone.to_owned()).or_default().push(format!("txt.{name}"));
    }
    let zones = by_zone.keys().cloned().collect();
    let zones = in_order_of_preference(zones, &records.own_zone, records.prefer_same_zone);
    let names: Vec<String> = zones.iter().flat_map(|zone| by_zone.remove(zone).unwrap_or_default()).collect();
    // Together, so that their time-outs do not add up.
    let answers = join_all(names.iter().map(|name| resolver.texts(name))).await;
    for (name, answer) in names.iter().zip(answers) {
        for host in read.take(name, answer, before, Lists::Hosts) {
            let url = format!("http://{host}:{}{}", records.port, records.path);
            match url.parse() {
                Ok(url) => read.urls.push(url),
                Err(_) => {
                    let complaint = format!("the TXT record {name:?} lists {host:?}, which is no host");
                    read.complaints.insert(name.to_owned(), complaint);
                }
            }
        }
    }
    read
}

/// What a record is to list.
#[derive(Debug, Clone, Copy)]
enum Lists {
    Zones,
    Hosts,
}

impl Read {
    /// What a record lists, now or when it could last be read.
    fn take(
        &mut self,
        name: &str,
        answer: io::Result<Vec<String>>,
        before: &Known,
        what: Lists,
    ) -> BTreeSet<String> {
        let listed = answer.map_err(|e| e.to_string()).and_then(|texts| listed_names(&texts));
        let names = listed.unwrap_or_else(|why| {
            self.complaints.insert(name.to_owned(), complaint(name, &why, what));
            before.get(name).cloned().unwrap_or_default()
        });
        if !names.is_empty() {
            self.known.insert(name.to_owned(), names.clone());
        }
        names
    }
}

/// What could not be read, with what to look at.
fn complaint(name: &str, why: &str, what: Lists) -> String {
    match what {
        Lists::Zones => format!(
            "the TXT record {name:?} lists no zones: {why}; see eureka.client.region and \
             eureka.client.eureka-server-d-n-s-name"
        ),
        Lists::Hosts => format!("the TXT record {name:?} lists no hosts of its zone: {why}"),
    }
}

/// The names that the texts of a TXT record list, in lower case and each once.
///
/// # Errors
/// In words, if they list none, more than a thousand, or what is no name of a host.
pub fn listed_names(texts: &[String]) -> Result<BTreeSet<String>, String> {
    let words = texts.iter().flat_map(|text| text.split_whitespace()).map(|word| word.trim_matches('"'));
    let names = words.map(|word| word.trim_end_matches('.').to_lowercase()).filter(|name| !name.is_empty());
    let names: BTreeSet<String> = names.collect();
    let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if names.is_empty() {
        return Err("it is empty".to_owned());
    }
    if names.len() > MAX_NAMES {
        return Err(format!("it lists more than {MAX_NAMES}"));
    }
    match names.iter().find(|name| !plain(name)) {
        Some(name) => Err(format!("{name:?} is no name of a host")),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        listed_names(&texts).map(|names| names.into_iter().collect())
    }

    #[test]
    fn names_are_separated_by_spaces_or_stand_in_texts_of_their_own() {
        let two = Ok(vec!["a.test".to_owned(), "b.test".to_owned()]);
        assert_eq!(names(&["b.test  a.test"]), two);
        assert_eq!(names(&["a.test", "B.test."]), two);
        assert_eq!(names(&["\"a.test b.test\""]), two);
        assert_eq!(names(&["\"b.test\" \"a.test\""]), two);
        assert_eq!(names(&["a.test b.test a.test"]), two, "each once");
    }

    #[test]
    fn what_is_no_list_of_names_is_refused_whole() {
        for texts in [&[][..], &[" "], &["\"\""], &["a.test", "v=spf1 include:x"], &["http://a/"], &["."]] {
            assert!(names(texts).is_err(), "{texts:?}");
        }
        let many: Vec<String> = (0..=MAX_NAMES).map(|n| format!("host-{n}")).collect();
        assert!(listed_names(&many).unwrap_err().contains("more than 1000"));
    }
}
