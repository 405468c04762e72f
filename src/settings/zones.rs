//! Zones and TXT records: where a client's settings say the servers of its region are.
//!
//! **Compat:** a Java server takes for its peers what its own embedded client would take for servers: the URLs of all
//! zones of its region. A region without zones has one, called `defaultZone`, and a zone without URLs of its own has
//! those of `defaultZone`. With `use-dns-for-fetching-service-urls` the URLs are not looked at: zones and hosts come from
//! TXT records. Which zone is preferred changes nothing but the order in which peers are listed.

use super::family::Named;
use super::{PeerSettings, PeerSource, Place, Problem};

/// The zone that a region has if no other is named, and whose URLs stand in for those that a zone lacks.
const DEFAULT_ZONE: &str = "defaultZone";

/// Where the servers of a region are, by zones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZoneSettings {
    /// This server's region.
    pub region: String,
    /// Regions and their zones; the first zone is this server's own.
    pub zones: Named<Vec<String>>,
    /// Zones and their URLs.
    pub service_urls: Named<Vec<PeerSource>>,
    /// The URLs of zones that have none of their own.
    pub default_zone: Vec<PeerSource>,
    /// Whether the own zone's servers are listed first, or last.
    pub prefer_same_zone: bool,
    /// Whether zones and hosts come from TXT records.
    pub use_dns: bool,
    /// The domain below which the TXT records are.
    pub domain: String,
    /// The port of servers that TXT records list.
    pub port: u16,
    /// The path of their API.
    pub context: String,
}

/// The TXT records that list the peers: `txt.<region>.<domain>` names zones, and `txt.<zone>` the hosts of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxtRecords {
    /// The name whose TXT record lists the zones.
    pub name: String,
    /// The port of every server.
    pub port: u16,
    /// The path of every server's API, with a slash at both ends.
    pub path: String,
    /// This server's own zone.
    pub own_zone: String,
    /// Whether the own zone's servers are listed first, or last.
    pub prefer_same_zone: bool,
}

impl ZoneSettings {
    /// Where the peers are, by these settings.
    pub(super) fn sources(&self) -> Vec<PeerSource> {
        if self.use_dns {
            return vec![PeerSource::Txt(self.txt_records())];
        }
        let mut sources = Vec::new();
        for zone in in_order_of_preference(self.zones_of_region(), &self.own_zone(), self.prefer_same_zone) {
            let urls = self.service_urls.get(&zone).filter(|urls| !urls.is_empty());
            for source in urls.unwrap_or(&self.default_zone) {
                if !sources.contains(source) {
                    sources.push(source.clone());
                }
            }
        }
        sources
    }

    /// Whether URLs are set that are not used.
    pub fn leaves_urls_out(&self) -> bool {
        self.use_dns && (!self.default_zone.is_empty() || self.service_urls.iter().next().is_some())
    }

    /// What does not fit together.
    pub(super) fn problems(&self, place: &dyn Fn(&str) -> Place) -> Vec<Problem> {
        if self.use_dns {
            let expected = "expected a domain, such as eureka.example.com, since \
                eureka.client.use-dns-for-fetching-service-urls is true";
            let (place, value) = (place("eureka.client.eureka-server-d-n-s-name"), String::new());
            let missing = Problem::Value { place, value, expected: expected.to_owned() };
            return if self.domain.is_empty() { vec![missing] } else { Vec::new() };
        }
        // A file for several regions names zones that are not this one's; a zone of none at all is misspelt.
        let known =
            |zone: &str| self.zones.iter().any(|(_, zones)| zones.iter().any(|z| Named::<()>::is(z, zone)));
        let unknown = self.service_urls.iter().filter(|(zone, _)| !known(zone));
        let mut problems: Vec<Problem> = unknown
            .map(|(zone, _)| Problem::NoSuchZone {
                place: place(&format!("eureka.client.service-url.{zone}")),
                zone: zone.clone(),
                region: self.region.clone(),
            })
            .collect();
        if problems.is_empty() && self.sources().is_empty() && self.service_urls.iter().next().is_some() {
            // Without peers it would run alone, and nobody would know why.
            let others: Vec<&str> = self.zones.iter().map(|(region, _)| region.as_str()).collect();
            let expected = format!("expected a region whose zones have URLs, among {}", others.join(", "));
            let (place, value) = (place("eureka.client.region"), self.region.clone());
            problems.push(Problem::Value { place, value, expected });
        }
        problems
    }

    fn zones_of_region(&self) -> Vec<String> {
        let zones = self.zones.get(&self.region).filter(|zones| !zones.is_empty());
        zones.cloned().unwrap_or_else(|| vec![DEFAULT_ZONE.to_owned()])
    }

    fn own_zone(&self) -> String {
        self.zones_of_region().swap_remove(0)
    }

    fn txt_records(&self) -> TxtRecords {
        let path = self.context.trim_matches('/');
        TxtRecords {
            name: format!("txt.{}.{}", self.region.to_lowercase(), self.domain),
            port: self.port,
            path: if path.is_empty() { "/".to_owned() } else { format!("/{path}/") },
            own_zone: self.own_zone(),
            prefer_same_zone: self.prefer_same_zone,
        }
    }
}

/// Zones from the own one on, or from the first that is another if the own one is not preferred; the others follow as
/// they stand, those before it at the end.
pub(crate) fn in_order_of_preference(mut zones: Vec<String>, own: &str, prefer_own: bool) -> Vec<String> {
    let first = zones.iter().position(|zone| zone.eq_ignore_ascii_case(own) == prefer_own);
    zones.rotate_left(first.unwrap_or(0));
    zones
}

impl PeerSettings {
    /// Fills in what follows from the zones.
    pub(super) fn resolve_zones(&mut self, place: &dyn Fn(&str) -> Place) -> Vec<Problem> {
        self.sources = self.zones.sources();
        self.zones.problems(place)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PeerSource, Settings, from_arguments, split_arguments};

    fn parse(arguments: &[&str]) -> Result<Settings, String> {
        let (dotted, others) = split_arguments(arguments.iter().map(|a| (*a).to_owned()));
        assert!(others.is_empty(), "{others:?}");
        from_arguments(&dotted).map_err(|e| e.to_string())
    }

    /// The peers that such settings make, as text.
    fn peers(arguments: &[&str]) -> Vec<String> {
        let sources = parse(arguments).unwrap().peers.sources;
        let shown = sources.iter().map(|source| match source {
            PeerSource::Url(url) => url.to_string(),
            PeerSource::Dns(url) => format!("dns+{url}"),
            PeerSource::Txt(records) => format!("{}:{}{}", records.name, records.port, records.path),
        });
        shown.collect()
    }

    /// Catalog: H16, H19
    #[test]
    fn the_peers_are_the_urls_of_all_zones_of_the_region() {
        let settings = [
            "--eureka.client.region=eu",
            "--eureka.client.availability-zones.eu=z1, z2,z3",
            "--eureka.client.availability-zones.us=z9",
            "--eureka.client.service-url.z1=http://u:p@a/eureka/,http://b/eureka/",
            "--eureka.client.serviceUrl.z2=http://b/eureka,dns+http://c/eureka/",
            "--eureka.client.service-url.z9=http://far/eureka/",
            "--eureka.client.service-url.defaultZone=http://d/eureka/",
        ];
        let all = ["http://a/eureka/", "http://b/eureka/", "dns+http://c/eureka/", "http://d/eureka/"];
        assert_eq!(peers(&settings), all, "each once; a zone without URLs has those of defaultZone");
        let sources = parse(&settings).unwrap().peers.sources;
        assert!(matches!(&sources[0], PeerSource::Url(url) if url.authorization().is_some()));
        let last = [&settings[..], &["--eureka.client.prefer-same-zone-eureka=false"]].concat();
        let others_first =
            ["http://b/eureka/", "dns+http://c/eureka/", "http://d/eureka/", "http://a/eureka/"];
        assert_eq!(peers(&last), others_first);
        let far = [&settings[..], &["--eureka.client.region=us"]].concat();
        assert_eq!(peers(&far), ["http://far/eureka/"]);
        let unnamed = [&settings[..], &["--eureka.client.region=asia"]].concat();
        assert_eq!(peers(&unnamed), ["http://d/eureka/"], "a region without zones has defaultZone");
    }

    #[test]
    fn a_zone_is_found_however_its_key_is_written_and_the_exact_one_counts() {
        let zone = "--eureka.client.availability-zones.us-east-1=us-east-1a";
        for key in ["us-east-1a", "US_EAST_1A", "usEast1a"] {
            let url = format!("--eureka.client.service-url.{key}=http://a/eureka/");
            assert_eq!(peers(&[zone, &url]), ["http://a/eureka/"], "{key}");
        }
        let two = [
            zone,
            "--eureka.client.service-url.us-east-1a=http://exact/eureka/",
            "--eureka.client.service-url.useast1a=http://other/eureka/",
        ];
        assert_eq!(peers(&two), ["http://exact/eureka/"]);
    }

    #[test]
    fn urls_of_a_zone_that_no_region_has_are_a_mistake() {
        let said = parse(&["--eureka.client.service-url.zone1=http://u:secret@a/eureka/"]).unwrap_err();
        assert_eq!(
            said,
            "--eureka.client.service-url.zone1: no region has the zone zone1; set \
             eureka.client.availability-zones.us-east-1=zone1, or use eureka.client.service-url.defaultZone"
        );
        let said = parse(&["--eureka.client.service-url.z1=ftp://u:secret@a/"]).unwrap_err();
        assert!(said.starts_with("--eureka.client.service-url.z1=ftp://…@a/: expected a URL"), "{said}");
    }

    #[test]
    fn urls_for_other_regions_alone_are_a_mistake() {
        let settings =
            ["--eureka.client.availability-zones.eu=z1", "--eureka.client.service-url.z1=http://a/eureka/"];
        let said = parse(&settings).unwrap_err();
        let expected = "eureka.client.region=us-east-1: expected a region whose zones have URLs, among eu";
        assert_eq!(said, expected);
        assert!(parse(&[settings[0], settings[1], "--eureka.client.region=eu"]).is_ok());
    }

    #[test]
    fn with_dns_the_peers_come_from_txt_records_alone() {
        let dns = "--eureka.client.use-dns-for-fetching-service-urls=true";
        let said = parse(&[dns]).unwrap_err();
        assert!(said.starts_with("eureka.client.eureka-server-d-n-s-name=: expected a domain"), "{said}");
        let full = [
            dns,
            "--eureka.client.eurekaServerDNSName=eureka.test",
            "--eureka.client.service-url.defaultZone=http://a/eureka/",
        ];
        assert_eq!(peers(&full), ["txt.us-east-1.eureka.test:8761/eureka/"]);
        let more = [
            "--eureka.client.region=EU-West-1",
            "--eureka.client.eureka-server-port=80",
            "--eureka.client.eureka-server-u-r-l-context=/eureka/v2",
        ];
        assert_eq!(peers(&[&full[..], &more].concat()), ["txt.eu-west-1.eureka.test:80/eureka/v2/"]);
        assert!(parse(&[dns, "--eureka.client.eureka-server-d-n-s-name=a b"]).is_err());
    }
}
