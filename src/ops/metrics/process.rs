//! Figures of the process, under the names that Prometheus' own libraries use. Only Linux tells.

use super::figures::Figures;

pub(super) fn measure() -> Figures {
    let mut figures = Figures::new("process");
    #[cfg(target_os = "linux")]
    linux(&mut figures);
    figures
}

/// What cannot be read is left out.
#[cfg(target_os = "linux")]
fn linux(figures: &mut Figures) {
    use procfs::process::{LimitValue, Process};

    let Ok(process) = Process::myself() else { return };
    if let Ok(stat) = process.stat() {
        let per_second = procfs::ticks_per_second() as f64;
        let used = (stat.utime + stat.stime) as f64 / per_second;
        figures.seconds_counter("cpu", "Processor time used", used);
        figures.bytes("resident_memory", "Memory in use", stat.rss * procfs::page_size());
        figures.bytes("virtual_memory", "Addresses in use", stat.vsize);
        if let Ok(booted) = procfs::boot_time_secs() {
            let started = booted as f64 + stat.starttime as f64 / per_second;
            figures.seconds("start_time", "When the process started", started);
        }
    }
    if let Ok(open) = process.fd_count() {
        figures.gauge("open_fds", "Open files, connections included", open as u64);
    }
    if let Ok(limits) = process.limits() {
        let most = match limits.max_open_files.soft_limit {
            LimitValue::Value(most) => most,
            LimitValue::Unlimited => u64::MAX,
        };
        figures.gauge("max_fds", "The most open files that the system allows", most);
    }
}
