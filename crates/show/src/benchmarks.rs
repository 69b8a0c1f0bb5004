//! Benchmarks: they record numbers, and fail only on ratios measured within one run.

pub(crate) mod answer_latency;
pub(crate) mod attention;
pub(crate) mod fanout;
pub(crate) mod growth;
pub(crate) mod hook_cost;
pub(crate) mod policy_speed;
pub(crate) mod scale;
pub(crate) mod throughput;
