//! Names to addresses, and to the texts that stand beside them.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::system_conf::parse_resolv_conf;

/// How long the system may take over one name.
const LONGEST: Duration = Duration::from_secs(5);

/// Where the system says who its name servers are.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// A look-up under way.
pub type LookUp<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Looks up names.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// All addresses of `host`, each with `port`.
    ///
    /// # Errors
    /// If the name does not resolve now, for whatever reason.
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> LookUp<'a, Vec<SocketAddr>>;

    /// The texts of all TXT records of `name`, which is complete as it is. A record may hold several.
    ///
    /// # Errors
    /// If the name does not resolve now, for whatever reason.
    fn texts<'a>(&'a self, name: &'a str) -> LookUp<'a, Vec<String>>;
}

/// The system's resolver: for addresses what all programs use, for TXT records the name servers of `/etc/resolv.conf`.
#[derive(Default)]
pub struct SystemResolver {
    /// The resolver for TXT records, and the file it was made from.
    for_texts: Mutex<Option<(Vec<u8>, TokioResolver)>>,
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemResolver")
    }
}

impl Resolve for SystemResolver {
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> LookUp<'a, Vec<SocketAddr>> {
        Box::pin(async move {
            let looked_up = tokio::time::timeout(LONGEST, tokio::net::lookup_host((host, port))).await;
            let addresses = looked_up.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            Ok(addresses.collect())
        })
    }

    fn texts<'a>(&'a self, name: &'a str) -> LookUp<'a, Vec<String>> {
        Box::pin(async move {
            let conf = tokio::task::spawn_blocking(|| std::fs::read(RESOLV_CONF)).await;
            let conf = conf.unwrap_or_else(|e| Err(io::Error::other(e)));
            let conf =
                conf.map_err(|e| io::Error::new(e.kind(), format!("{RESOLV_CONF} cannot be read: {e}")))?;
            texts_at(&self.resolver(conf)?, name).await
        })
    }
}

impl SystemResolver {
    /// The resolver by such a file. It is made anew when the file changes and not each time, since what the file has
    /// that is not understood is logged when it is read.
    fn resolver(&self, conf: Vec<u8>) -> io::Result<TokioResolver> {
        let mut known = self.for_texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_from, resolver)) = &*known
            && *made_from == conf
        {
            return Ok(resolver.clone());
        }
        let resolver = resolver_by(&conf).map_err(|e| io::Error::other(format!("{RESOLV_CONF}: {e}")))?;
        *known = Some((conf, resolver.clone()));
        Ok(resolver)
    }
}

fn resolver_by(conf: &[u8]) -> Result<TokioResolver, NetError> {
    let (config, mut options) = parse_resolv_conf(conf)?;
    // Whoever looks up remembers what was found last; and what changes is to be seen the next time.
    options.cache_size = 0;
    TokioResolver::builder_with_config(config, Default::default()).with_options(options).build()
}

async fn texts_at(resolver: &TokioResolver, name: &str) -> io::Result<Vec<String>> {
    // With the dot at the end no search domain is tried.
    let looked_up = tokio::time::timeout(LONGEST, resolver.txt_lookup(format!("{name}."))).await;
    let found = looked_up.unwrap_or(Err(NetError::Timeout)).map_err(in_words)?;
    let strings = found.answers().iter().filter_map(|record| match &record.data {
        RData::TXT(texts) => Some(&texts.txt_data),
        _ => None,
    });
    Ok(strings.flatten().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
}

/// An error in words that stay the same for as long as the fault does.
fn in_words(error: NetError) -> io::Error {
    match error {
        NetError::Timeout => io::Error::new(io::ErrorKind::TimedOut, "no name server answered in time"),
        NetError::Dns(DnsError::NoRecordsFound(none)) if none.response_code == ResponseCode::NXDomain => {
            io::Error::new(io::ErrorKind::NotFound, "there is no such name")
        }
        NetError::Dns(DnsError::NoRecordsFound(_)) => {
            io::Error::new(io::ErrorKind::NotFound, "the name has no TXT record")
        }
        NetError::Dns(DnsError::ResponseCode(code)) => {
            io::Error::other(format!("the name server answered {code}"))
        }
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::proto::op::{Message, OpCode};
    use hickory_resolver::proto::rr::rdata::TXT;
    use hickory_resolver::proto::rr::{Name, Record};
    use tokio::net::UdpSocket;

    use super::*;

    /// Answers each query by what the first label of its name asks for.
    async fn name_server(socket: UdpSocket) {
        let mut bytes = [0; 512];
        loop {
            let (length, from) = socket.recv_from(&mut bytes).await.unwrap();
            let query = Message::from_vec(&bytes[..length]).unwrap();
            let asked = query.queries[0].clone();
            let mut answer = Message::response(query.id, OpCode::Query);
            answer.add_query(asked.clone());
            let text = |texts: &[&str]| {
                let texts = TXT::new(texts.iter().map(|text| (*text).to_owned()).collect());
                Record::from_rdata(asked.name().clone(), 60, RData::TXT(texts))
            };
            match asked.name().to_ascii().split('.').next().unwrap() {
                "two" => {
                    answer.add_answer(text(&["a.test b.test", "c.test"]));
                    answer.add_answer(text(&["\"d.test\""]));
                }
                "none" => {}
                "failing" => answer.metadata.response_code = ResponseCode::ServFail,
                _ => answer.metadata.response_code = ResponseCode::NXDomain,
            }
            socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
        }
    }

    #[tokio::test]
    async fn all_texts_of_all_txt_records_are_found_and_errors_say_what_is_the_matter() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(name_server(socket));
        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let servers = vec![NameServerConfig::new(address.ip(), true, vec![connection])];
        let search = vec![Name::from_ascii("search.test.").unwrap()];
        let config = ResolverConfig::from_parts(None, search, servers);
        let resolver = TokioResolver::builder_with_config(config, Default::default()).build().unwrap();
        let mut texts = texts_at(&resolver, "two.example.test").await.unwrap();
        texts.sort();
        assert_eq!(texts, ["\"d.test\"", "a.test b.test", "c.test"]);
        for (name, words) in [
            ("none.example.test", "the name has no TXT record"),
            ("unknown.example.test", "there is no such name"),
            ("failing.example.test", "the name server answered Server Failure"),
        ] {
            let said = texts_at(&resolver, name).await.unwrap_err().to_string();
            assert_eq!(said, words, "{name}");
        }
    }

    #[test]
    fn the_resolver_follows_the_systems_file_and_names_it_when_it_is_of_no_use() {
        let system = SystemResolver::default();
        assert!(system.resolver(b"nameserver 127.0.0.1\n".to_vec()).is_ok());
        assert!(system.resolver(b"nameserver 127.0.0.2\n".to_vec()).is_ok());
        let said = system.resolver(b"# nothing\n".to_vec()).map(drop).unwrap_err().to_string();
        assert!(said.contains("/etc/resolv.conf") && said.contains("no nameservers"), "{said}");
    }
}
