// The rules, the alerts and the dashboard, as monitoring mixins have them. The dashboard is only looked for when it is asked for.
(import 'config.libsonnet') +
(import 'rules.libsonnet') +
(import 'alerts.libsonnet') +
{
  grafanaDashboards+:: {
    'lease-exporter.json': (import 'dashboard.libsonnet')($._config).dashboard,
  },
}
