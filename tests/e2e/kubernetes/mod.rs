//! What people deploy with on Kubernetes: each kustomization and each rendering of the chart is something that Kubernetes
//! takes, and keeps the rules of this house. Nothing here needs a cluster.

mod chart;
mod documentation;
mod kustomizations;
mod objects;
mod rules;
mod schemas;
mod tools;
mod violations;
