//! How many instances there are, by status and by application.

use std::collections::BTreeMap;
use std::time::Duration;

use eurekad_wire::InstanceStatus;

use super::figures::Figures;
use crate::http::Api;
use crate::registry::{Content, Scope};

/// Longer names of applications are cut: a client chooses them, and each is written at every scrape.
const LONGEST_NAME: usize = 128;

/// The label of all applications that have no figures of their own. Names of applications are in upper case.
const OTHERS: &str = "(others)";

type ByStatus = [u64; InstanceStatus::ALL.len()];

pub(super) fn measure(api: &Api, figures: &mut Figures) {
    let now = api.clock.tick();
    // What is walked through is shared with the registry; its lock is free again.
    let content = api.registry.content(&Scope::All);
    let instances = || content.iter().flat_map(|content| &content.groups).flat_map(|group| group.instances());
    let overdue = instances().filter(|entry| entry.lease.is_expired(now, Duration::ZERO)).count();
    let applications = content.as_ref().map_or(0, |content| content.groups.len());
    let most = api.settings.metrics.applications;
    let by_application = by_application(content.as_ref(), most);
    let mut all = ByStatus::default();
    for (_, counts) in &by_application {
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    figures.gauge("instances", "Instances in the registry", all.iter().sum());
    figures.gauges(
        "instances_by_status",
        "Instances in the registry by the status that they show",
        statuses(&all).map(|(status, count)| ([("status", status)], count)),
    );
    figures.gauge("applications", "Applications that have instances", applications as u64);
    figures.gauges(
        "application_instances",
        "Instances of the largest applications; the others together",
        by_application.iter().filter(|_| most > 0).flat_map(|(application, counts)| {
            let some = statuses(counts).filter(|(_, count)| *count > 0);
            some.map(|(status, count)| ([("application", application.clone()), ("status", status)], count))
        }),
    );
    figures.gauge("leases_overdue", "Leases that are over and not evicted yet", overdue as u64);
}

/// The `most` largest applications, and one row for all others.
fn by_application(content: Option<&Content>, most: usize) -> Vec<(String, ByStatus)> {
    let mut named: BTreeMap<String, ByStatus> = BTreeMap::new();
    for group in content.iter().flat_map(|content| &content.groups) {
        let counts = named.entry(shortened(group.name().as_str())).or_default();
        group.instances().for_each(|entry| counts[entry.info.status as usize] += 1);
    }
    let mut all: Vec<(String, ByStatus)> = named.into_iter().collect();
    // Of two as large the one that comes first by name, so that series do not come and go without need.
    all.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    let mut others = ByStatus::default();
    for (_, counts) in all.drain(most.min(all.len())..) {
        others.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    all.push((OTHERS.to_owned(), others));
    all
}

fn statuses(counts: &ByStatus) -> impl Iterator<Item = (String, u64)> {
    InstanceStatus::ALL.iter().zip(counts).map(|(status, count)| (status.as_str().to_owned(), *count))
}

fn shortened(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    format!("{}…", &name[..name.floor_char_boundary(LONGEST_NAME)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(shortened("ORDERS"), "ORDERS");
        let long = shortened(&"Ä".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (LONGEST_NAME / 2 + 1, true));
    }
}
