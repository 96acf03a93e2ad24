-- Compaction (spec: planner 8). summary_at: the session's last_seq when its summary was stored; token usage that was
-- reported for messages up to there is of the longer context from before.
ALTER TABLE planner_sessions ADD COLUMN summary_at integer NOT NULL DEFAULT 0;
