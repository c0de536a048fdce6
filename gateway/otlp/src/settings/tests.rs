//! Tests of the settings.

use super::*;

fn read(config: Option<&TelemetryConfig>, variables: &[(&str, &str)]) -> Option<ExportSettings> {
    ExportSettings::read(config, &|name| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

fn endpoints(config: Option<&TelemetryConfig>, variables: &[(&str, &str)]) -> Option<[Option<String>; 2]> {
    read(config, variables).map(|settings| [settings.traces, settings.metrics])
}

#[test]
fn nothing_is_exported_by_default() {
    assert_eq!(read(None, &[]), None);
    assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
    let both = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "TRUE")];
    assert_eq!(read(Some(&TelemetryConfig::default()), &both), None);
}

#[test]
fn endpoints_come_from_the_file_then_from_variables() {
    let some = |address: &str| Some(address.to_owned());
    let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x");
    assert_eq!(
        endpoints(None, &[general]),
        Some([some("http://c:4318/v1/traces"), some("http://c:4318/v1/metrics")])
    );
    assert_eq!(
        endpoints(None, &[general, own]),
        Some([some("http://t/x"), some("http://c:4318/v1/metrics")])
    );
    assert_eq!(endpoints(None, &[own]), Some([some("http://t/x"), None]));
    let empty = TelemetryConfig::default();
    let local = [some("http://localhost:4318/v1/traces"), some("http://localhost:4318/v1/metrics")];
    assert_eq!(endpoints(Some(&empty), &[]), Some(local));
    let file = TelemetryConfig { otlp: some("https://file/base"), ..TelemetryConfig::default() };
    let named = [some("https://file/base/v1/traces"), some("https://file/base/v1/metrics")];
    assert_eq!(endpoints(Some(&file), &[general, own]), Some(named.clone()));
    let [traces, metrics] = named;
    assert_eq!(endpoints(Some(&file), &[("OTEL_METRICS_EXPORTER", "none")]), Some([traces, None]));
    let only_metrics = TelemetryConfig { signals: [TelemetrySignal::Metrics].into(), ..file };
    assert_eq!(endpoints(Some(&only_metrics), &[]), Some([None, metrics]));
}

#[test]
fn samplers_come_from_the_file_then_from_variables() {
    let sampling = |config: &TelemetryConfig, sampler: &str, argument: &str| {
        let variables = [("OTEL_TRACES_SAMPLER", sampler), ("OTEL_TRACES_SAMPLER_ARG", argument)];
        let settings = read(Some(config), &variables).unwrap().sampling;
        (settings.ratio, settings.parents)
    };
    use ParentPolicy::{Followed, Ignored};
    let file = TelemetryConfig::default();
    for (name, argument, expected) in [
        ("", "", (1.0, Ignored)),
        ("always_off", "", (0.0, Ignored)),
        ("traceidratio", "0.25", (0.25, Ignored)),
        ("traceidratio", "25", (1.0, Ignored)),
        ("parentbased_always_on", "", (1.0, Followed)),
        ("parentbased_traceidratio", "0.5", (0.5, Followed)),
        ("made_up", "", (1.0, Ignored)),
    ] {
        assert_eq!(sampling(&file, name, argument), expected, "{name} {argument}");
    }
    let file = TelemetryConfig { sample_percent: Some(10), follow_callers: Some(false), ..file };
    assert_eq!(sampling(&file, "parentbased_always_off", ""), (0.1, Ignored));
}

#[test]
fn batches_are_at_most_as_large_as_the_queue() {
    let config = TelemetryConfig::default();
    let queue = |variables: &[(&str, &str)]| read(Some(&config), variables).unwrap().queue;
    let queue_of_four = queue(&[("OTEL_BSP_MAX_QUEUE_SIZE", "4"), ("OTEL_BSP_SCHEDULE_DELAY", "20")]);
    assert_eq!((queue_of_four.max_queued, queue_of_four.max_batch), (4, 4));
    assert_eq!(queue_of_four.delay, Duration::from_millis(20));
    let invalid = queue(&[("OTEL_BSP_MAX_QUEUE_SIZE", "many"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0")]);
    assert_eq!((invalid.max_queued, invalid.max_batch), (DEFAULT_QUEUED_SPANS, DEFAULT_BATCH_SPANS));
}
