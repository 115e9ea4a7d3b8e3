// The recording rules. With the default configuration they render to ../lease.rules.yaml, which explains each of them.
local words = import 'words.libsonnet';

{
  local config = $._config,
  local w = words(config),
  local record(name, expr, labels={}) =
    { record: '%s:%s' % [config.prefix, name], expr: expr % w } +
    (if labels == {} then {} else { labels: labels }),

  // The state of each lease, over all exporters that report it.
  local known = [
    record('state', 'max by (%(state)s) (lease_state{%(also)sstate!="unknown"})'),
    record('state', '1 - max by (%(lease)s) (%(p)s:state{state!="unknown"})', { state: 'unknown' }),
  ],

  // The sources: read, not readable, or no longer reported.
  local sources = [
    record('source_up', 'max by (%(source)s) (lease_source_up%(only)s)'),
    record('source_reported', |||
      group by (%(reporter)s) (lease_source_up%(only)s)
      or
      0 * (
        (last_over_time(%(p)s:source_reported[%(absent)s]) == 1 and on (%(source)s) lease_source_up%(only)s)
        or
        (last_over_time(%(p)s:source_reported[%(absent)s]) == 1 and on (%(exporter)s) lease_exporter_build_info%(only)s)
      )
    |||),
    record('source_lost', 'group by (%(source)s) (last_over_time(%(p)s:source_reported[%(absent)s]) == 1) unless on (%(source)s) %(p)s:source_up'),
    record('source_unread', 'group by (%(source)s) (%(p)s:source_up == 0 or %(p)s:source_lost)'),
    record('source_read_again', |||
      group by (%(source)s) (
        %(p)s:alert_would_fire{alert=~"LeaseSourceDown|LeaseExporterAbsent"} and on (%(source)s) %(p)s:source_up == 1
      )
    |||),
    record('source_exporter_missed', |||
      group by (%(source)s) (
        last_over_time(lease_source_up%(only)s[%(missed)s])
        unless lease_source_up%(only)s
        unless on (%(target)s) lease_exporter_build_info%(only)s
      )
    |||),
    record('reported', |||
      group by (%(lease)s) (%(p)s:state{state="unknown"})
      or
      0 * (last_over_time(%(p)s:reported[%(memory)s]) >= 0 and on (%(source)s) (%(p)s:source_unread or %(p)s:source_exporter_missed))
      or
      -1 * (last_over_time(%(p)s:reported[%(memory)s]) >= 0) ^ 0
    |||),
  ],

  // The conditions that are kept while the state is not known.
  local remembered = [
    record('new_leader', |||
      group by (%(lease)s) (
        lease_held_seconds%(only)s < on (%(lease)s) group_left () min by (%(lease)s) (lease_stall_after_seconds%(only)s)
      )
      unless on (%(source)s) lease_source_info{%(also)skind="registry"}
    |||),
    record('last_known_state_void', 'group by (%(lease)s) (lease_authority_state{%(also)sstate="held"} == 1)', { state: 'no_leader' }),
    record('last_known_state_void', '%(p)s:new_leader or group by (%(lease)s) (lease_state_reason{%(also)sreason="progress_not_reported"} == 1)', { state: 'stalled' }),
    record('last_known_state', |||
      %(p)s:state{state=~"no_leader|stalled"} == 1
      or
      (
        last_over_time(%(p)s:last_known_state[%(memory)s]) == 1
        and on (%(lease)s) (%(p)s:state{state="unknown"} == 1 or %(p)s:reported == 0)
        unless on (%(state)s) %(p)s:last_known_state_void
      )
      or
      0 * (last_over_time(%(p)s:last_known_state[%(memory)s]) == 1)
    |||),
    record('stall_unsettled', |||
      group by (%(lease)s) (%(p)s:state{state="stalled"} == 1)
      or
      (
        last_over_time(%(p)s:stall_unsettled[%(memory)s]) == 1
        and on (%(lease)s) %(p)s:reported >= 0
        unless on (%(lease)s) (%(p)s:state{state=~"active|idle"} == 1)
        unless on (%(lease)s) lease_state_reason{%(also)sreason="progress_not_reported"} == 1
      )
      or
      0 * (last_over_time(%(p)s:stall_unsettled[%(memory)s]) == 1)
    |||),
    record('alert_enabled', |||
      group by (%(alert)s) (lease_alert_enabled%(only)s)
      or
      (last_over_time(%(p)s:alert_enabled[%(memory)s]) == 1 and on (%(lease)s) (%(p)s:reported == 0))
      or
      0 * (last_over_time(%(p)s:alert_enabled[%(memory)s]) == 1)
    |||),
    record('leadership_term', |||
      (
        max by (%(lease)s) (lease_epoch%(only)s)
        or
        max by (%(lease)s) (lease_acquired_timestamp_seconds%(only)s)
      )
      and on (%(source)s) lease_source_info{%(also)skind="standing"}
    |||),
  ],

  // The conditions: one rule for each alert, one series for each lease for which it holds now.
  local conditions = [
    record('alert_condition', 'group by (%(lease)s) (%(p)s:last_known_state{state="no_leader"} == 1)', { alert: 'LeaseNoLeader' }),
    record('alert_condition', |||
      group by (%(lease)s) (
        %(p)s:last_known_state{state="stalled"} == 1 unless on (%(lease)s) %(p)s:new_leader
        or
        %(p)s:stall_unsettled == 1
        and on (%(lease)s) (
          changes(%(p)s:leadership_term[%(forgiven_window)s]) - 2 * resets(%(p)s:leadership_term[%(forgiven_window)s]) >= %(forgiven)d
        )
      )
    |||, { alert: 'LeaseWorkStalled' }),
    record('alert_condition', |||
      group by (%(lease)s) (%(p)s:state{state="unknown"} == 1 or %(p)s:reported == 0)
      unless on (%(source)s) %(p)s:source_read_again
    |||, { alert: 'LeaseStateUnknown' }),
    record('alert_condition', |||
      group by (%(lease)s) (
        changes(%(p)s:leadership_term[%(window)s]) - 2 * resets(%(p)s:leadership_term[%(window)s]) >= %(takeovers)d
        and on (%(lease)s) (%(p)s:reported >= 0)
      )
    |||, { alert: 'LeaseLeadershipFlapping' }),
    record('alert_condition', |||
      group by (%(lease)s) (
        lease_state_reason{%(also)sreason="epoch_regressed"} == 1
        or
        increase(lease_anomalies_total{%(also)sanomaly="epoch_regressed"}[%(window)s]) > 0
        or
        %(p)s:alert_condition{alert="LeaseEpochRegressed"}
        and on (%(source)s) (%(p)s:source_unread or %(p)s:source_exporter_missed)
      )
    |||, { alert: 'LeaseEpochRegressed' }),
    record('alert_condition', 'group by (%(lease)s) (increase(lease_anomalies_total{%(also)sanomaly="progress_from_stale_epoch"}[%(window)s]) > 0)', { alert: 'LeaseFencedWriter' }),
    record('alert_condition', |||
      group by (%(lease)s) (
        %(p)s:reported >= 0
        and on (%(source)s) (
          %(p)s:source_up == 0
          or
          last_over_time(%(p)s:source_up[%(memory)s]) == 0 and on (%(source)s) %(p)s:source_lost
        )
      )
    |||, { alert: 'LeaseSourceDown' }),
    record('alert_condition', 'group by (%(lease)s) (%(p)s:reported == 0 and on (%(source)s) %(p)s:source_lost)', { alert: 'LeaseExporterAbsent' }),
  ],

  // The time at which each condition began.
  local since = [
    record('alert_condition_since_timestamp_seconds', |||
      (last_over_time(%(p)s:alert_condition_since_timestamp_seconds[%(memory)s]) > 0 and %(p)s:alert_condition)
      or
      time() * %(p)s:alert_condition
      or
      0 * (last_over_time(%(p)s:alert_condition_since_timestamp_seconds[%(memory)s]) > 0)
    |||),
  ],

  // How long each condition must last.
  local waits = [
    record('alert_wait_seconds', 'vector(%d)' % config.wait[alert], { alert: alert })
    for alert in config.alerts
  ],

  // The alerts that would fire if they were enabled.
  local outcome = [
    record('alert_would_fire', |||
      %(p)s:alert_condition
      and
      (
        time() - (%(p)s:alert_condition_since_timestamp_seconds > 0)
        >= on (alert) group_left () %(p)s:alert_wait_seconds
      )
    |||),
  ],

  prometheusRules+:: {
    groups+: [{
      name: config.rulesGroup,
      rules: known + sources + remembered + conditions + since + waits + outcome,
    }],
  },
}
