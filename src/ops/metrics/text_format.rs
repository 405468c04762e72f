//! Prometheus' text format 0.0.4, made from OpenMetrics.
//!
//! The two differ in the lines that begin with `#`: here a counter's name has its `_total` there too, what OpenMetrics
//! calls info is a gauge, and units and the end are not said. What has a value looks the same.

/// What `openmetrics` says, in the older format.
pub(super) fn of(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut help = "";
    for line in openmetrics.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map_or("", |(_, words)| words);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                other => ("", other),
            };
            text.push_str(&format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with("# ") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::metrics::info::Info;
    use prometheus_client::registry::{Registry, Unit};

    #[test]
    fn counters_and_infos_are_called_as_their_samples_are() {
        let mut names = Registry::with_prefix("x");
        let (counter, gauge): (Counter, Gauge) = (Counter::default(), Gauge::default());
        counter.inc_by(3);
        names.register("beats", "Heart beats", counter);
        names.register("build", "What runs", Info::new([("version", "1")]));
        names.register_with_unit("up", "Since the start", Unit::Seconds, gauge);
        let histogram = Histogram::new([0.5]);
        histogram.observe(0.25);
        names.register("took", "How long", histogram);
        let mut openmetrics = String::new();
        encode(&mut openmetrics, &names).unwrap();
        let expected = "\
# HELP x_beats_total Heart beats.
# TYPE x_beats_total counter
x_beats_total 3
# HELP x_build_info What runs.
# TYPE x_build_info gauge
x_build_info{version=\"1\"} 1
# HELP x_up_seconds Since the start.
# TYPE x_up_seconds gauge
x_up_seconds 0
# HELP x_took How long.
# TYPE x_took histogram
x_took_sum 0.25
x_took_count 1
x_took_bucket{le=\"0.5\"} 1
x_took_bucket{le=\"+Inf\"} 1
";
        assert_eq!(of(&openmetrics), expected);
    }

    #[test]
    fn no_label_can_write_lines_of_its_own() {
        let family = Family::<[(&str, String); 1], Gauge>::default();
        family.get_or_create(&[("app", "A\"} 1\n# TYPE x counter\nx\\".to_owned())]).set(7);
        let mut names = Registry::default();
        names.register("apps", "Applications", family);
        let mut openmetrics = String::new();
        encode(&mut openmetrics, &names).unwrap();
        let text = of(&openmetrics);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains(r#"apps{app="A\"} 1\n# TYPE x counter\nx\\"} 7"#), "{text}");
    }
}
