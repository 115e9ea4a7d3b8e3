// The rules, the alerts and the dashboard, in the form of a monitoring mixin. The dashboard file is read only if it is used.
(import 'config.libsonnet') +
(import 'rules.libsonnet') +
(import 'alerts.libsonnet') +
{
  grafanaDashboards+:: {
    'lease-exporter.json': (import 'dashboard.libsonnet')($._config).dashboard,
  },
}
