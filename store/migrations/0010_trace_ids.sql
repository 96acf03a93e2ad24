-- trace_id: of the request that a turn or run comes from; operators find its log lines by it. Null: from before.
ALTER TABLE planner_turns ADD COLUMN trace_id text;
ALTER TABLE bounded_runs ADD COLUMN trace_id text;
