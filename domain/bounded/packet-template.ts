// The text that `partner packet init` writes: a template with guidance (spec: bounded-claude 1 and 2).

import { maxPacketCharacters } from './packet.ts';

/** The template; its guidance stands in comments, which are no content, so that an unfilled one is rejected. */
export function packetTemplate(): string {
  const limit = maxPacketCharacters.toLocaleString('en-US');
  return `# Partner Bounded Planning Packet

<!-- At most ${limit} characters, UTF-8. Keep the title, the seven headings and their order. Comments like this one
are no content: they may stay. The planner sees nothing but this packet: no repository, no tools, no network. Put no
secrets in: a packet with secret-like text is rejected; write a placeholder such as <database-password>. -->

## Goal

<!-- One outcome, why it matters, and the condition that says yes or no to "is it done?". -->

## Non-goals

<!-- What this change will not do, so that the plan does not grow. -->

## Current-State Evidence

<!-- The facts a decision needs, each with its place: file:line, short excerpts, commands and what they printed,
failures seen. Choose evidence that could change the plan: the interface to be changed, its callers, the failing test,
the numbers. Leave out what only shows that you looked. Quote code and logs in fences. -->

## Constraints

<!-- Real limits: compatibility, safety, budget, authorization, versions. -->

## Acceptance

<!-- Checks that pass or fail, and that cannot be passed by deleting or weakening tests. -->

## Open Decisions

<!-- Only what the planner must decide, with the options you see. Write "None." if there is nothing. -->

## Truncation

<!-- Does the evidence not fit? First try to split the decision into two packets. Otherwise summarize it visibly and
write, on one line, "present: " with what was omitted and why. Nothing omitted: write "none" and nothing else. -->
`;
}
