// The alerts. With the default configuration they render to ../lease.alerts.yaml, which explains them.
local words = import 'words.libsonnet';

{
  local config = $._config,
  local w = words(config),

  // One alert of a lease, or of a source if any of its leases has it enabled. The lines of the description form one text.
  local alert(name, by, summary, description) = {
    alert: name,
    expr: |||
      %(operator)s by (%(by)s) (
        %(p)s:alert_would_fire{alert="%(name)s"}
        and on (%(alert)s) (%(p)s:alert_enabled{alert="%(name)s"} == 1)
      )
    ||| % (w { name: name, operator: by.operator, by: by.labels }),
    labels: { severity: config.severity[name] } + config.alertLabels,
    annotations: {
      summary: summary,
      description: std.strReplace(std.rstripChars((by.matchers + '\n' + description) % w, '\n'), '\n', ' '),
      runbook_url: '%s/%s.md' % [std.rstripChars(config.runbookBase, '/'), name],
    },
  },
  local lease = { operator: 'max', labels: w.lease, matchers: '%(of_lease)s' },
  local source = { operator: 'count', labels: w.source, matchers: '%(of_source)s' },

  local alerts = [
    alert(
      'LeaseNoLeader',
      lease,
      'Nobody leads lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }}.',
      |||
        Nobody has had the right to act for
        {{ with printf `time() - %(p)s:alert_condition_since_timestamp_seconds{alert="LeaseNoLeader",%%s}` $of | query }}{{ . | first | value | humanizeDuration }}{{ else }}a time not known{{ end }}.
        Reason now:
        {{ range $at, $row := printf `group by (reason) (lease_state_reason{%(also)s%%s})` $of | query | sortByLabel "reason" }}{{ if $at }}, {{ end }}{{ $row.Labels.reason }}{{ else }}not known{{ end }}.
        Work due:
        {{ with printf `max(lease_due{%(also)s%%s})` $of | query }}{{ . | first | value }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseWorkStalled',
      lease,
      'The work of lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }} is due and does not move.',
      |||
        Last renewed:
        {{ with printf `min(lease_age_seconds{%(also)s%%s})` $of | query }}{{ . | first | value | humanizeDuration }} ago{{ else }}not known{{ end }}.
        Last progress:
        {{ with printf `min(lease_last_progress_age_seconds{%(also)s%%s})` $of | query }}{{ . | first | value | humanizeDuration }} ago{{ else }}not known{{ end }};
        the limit is
        {{ with printf `min(lease_stall_after_seconds{%(also)s%%s})` $of | query }}{{ . | first | value | humanizeDuration }}{{ else }}not known{{ end }}.
        Work due:
        {{ with printf `max(lease_due{%(also)s%%s})` $of | query }}{{ . | first | value }}{{ else }}not known{{ end }};
        the oldest for:
        {{ with printf `max(lease_oldest_due_age_seconds{%(also)s%%s})` $of | query }}{{ . | first | value | humanizeDuration }}{{ else }}not known{{ end }}.
        Reason now:
        {{ range $at, $row := printf `group by (reason) (lease_state_reason{%(also)s%%s})` $of | query | sortByLabel "reason" }}{{ if $at }}, {{ end }}{{ $row.Labels.reason }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseStateUnknown',
      lease,
      'The state of lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }} is not known.',
      |||
        No exporter has known it for
        {{ with printf `time() - %(p)s:alert_condition_since_timestamp_seconds{alert="LeaseStateUnknown",%%s}` $of | query }}{{ . | first | value | humanizeDuration }}{{ else }}a time not known{{ end }}.
        Reason now:
        {{ range $at, $row := printf `group by (reason) (lease_state_reason{%(also)s%%s})` $of | query | sortByLabel "reason" }}{{ if $at }}, {{ end }}{{ $row.Labels.reason }}{{ else }}no exporter reports the lease{{ end }}.
      |||
    ),
    alert(
      'LeaseLeadershipFlapping',
      lease,
      'Lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }} changes hands too often.',
      |||
        Leadership was taken
        {{ with printf `changes(%(p)s:leadership_term{%%s}[%(window)s]) - 2 * resets(%(p)s:leadership_term{%%s}[%(window)s])` $of $of | query }}{{ . | first | value }}{{ else }}a number not known of{{ end }}
        times in %(window)s. Epoch now:
        {{ with printf `max(lease_epoch{%(also)s%%s})` $of | query }}{{ . | first | value | printf "%%.0f" }}{{ else }}not known{{ end }},
        held for:
        {{ with printf `min(lease_held_seconds{%(also)s%%s})` $of | query }}{{ . | first | value | humanizeDuration }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseEpochRegressed',
      lease,
      'The epoch of lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }} went backwards.',
      |||
        Fencing cannot be relied on: a writer that should be refused may be let through. Epoch now:
        {{ with printf `max(lease_epoch{%(also)s%%s})` $of | query }}{{ . | first | value | printf "%%.0f" }}{{ else }}not known{{ end }},
        the highest within %(memory)s:
        {{ with printf `max(max_over_time(lease_epoch{%(also)s%%s}[%(memory)s]))` $of | query }}{{ . | first | value | printf "%%.0f" }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseFencedWriter',
      lease,
      'A former leader still works under lease {{ printf "%q" $labels.lease }} of source {{ printf "%q" $labels.source }}.',
      |||
        Progress was written under an epoch that had already ended. Epoch now:
        {{ with printf `max(lease_epoch{%(also)s%%s})` $of | query }}{{ . | first | value | printf "%%.0f" }}{{ else }}not known{{ end }};
        the last progress was made under:
        {{ with printf `max(lease_last_progress_epoch{%(also)s%%s})` $of | query }}{{ . | first | value | printf "%%.0f" }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseSourceDown',
      source,
      'No exporter can read source {{ printf "%q" $labels.source }}.',
      |||
        Nothing new is known of its leases; {{ printf "%%.0f" $value }} of them asked for this alert. Exporters that try:
        {{ with printf `count(lease_source_up{%(also)s%%s})` $of | query }}{{ . | first | value }}{{ else }}none now{{ end }}.
        Failures within %(window)s:
        {{ range $at, $row := printf `group by (reason) (increase(lease_source_read_failures_total{%(also)s%%s}[%(window)s]) > 0)` $of | query | sortByLabel "reason" }}{{ if $at }}, {{ end }}{{ $row.Labels.reason }}{{ else }}not known{{ end }}.
      |||
    ),
    alert(
      'LeaseExporterAbsent',
      source,
      'No exporter reports source {{ printf "%q" $labels.source }} any more.',
      |||
        Nothing is known of its leases; {{ printf "%%.0f" $value }} of them asked for this alert. Reported last by:
        {{ range $at, $row := printf `last_over_time(%(p)s:source_reported{%%s}[%(absent)s]) == 1` $of | query | sortByLabel "%(last_exporter_label)s" }}{{ if $at }}; {{ end }}%(exporter_named)s{{ else }}not known{{ end }}.
      |||
    ),
  ],

  prometheusAlerts+:: {
    groups+: [{
      name: config.alertsGroup,
      rules: alerts,
    }],
  },
}
