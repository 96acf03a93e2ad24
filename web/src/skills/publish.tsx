// What the draft has that no version has yet, and the way to publish it.

import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Skill } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Confirm } from '../base/dialog.tsx';
import { Notice } from '../base/notice.tsx';
import { useNotify } from '../base/notices.tsx';
import { useRest } from '../data/client.tsx';
import { Changes } from '../drafts/changes.tsx';
import { differing } from '../drafts/draft.ts';
import { useKeepSkill, useSkillVersion } from './data.ts';
import { emptySkill, fieldsOf, fieldWords, textOf } from './words.ts';

/** Nothing where the draft is as the newest version. */
export function Unpublished({ skill, mayPublish }: { skill: Skill; mayPublish: boolean }) {
  const latest = useSkillVersion(skill.id, skill.latest);
  const [open, setOpen] = useState(false);
  if (skill.latest > 0 && !latest.data) return null;
  const before = latest.data ? fieldsOf(latest.data) : emptySkill;
  const after = fieldsOf(skill.draft);
  const changed = differing(before, after);
  if (changed.length === 0) return null;
  return (
    <Notice
      actions={
        <>
          {skill.latest > 0 && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? 'Hide the changes' : 'Show the changes'}
            </Button>
          )}
          {mayPublish && <Publish skill={skill} />}
        </>
      }
    >
      <p>
        {skill.latest === 0
          ? 'This skill is a draft: no project uses it before it is published.'
          : `The draft has changes that version ${skill.latest} has not. Projects use them once they are published.`}
      </p>
      {open && <Changes names={changed} before={before} after={after} words={fieldWords} textOf={textOf} />}
    </Notice>
  );
}

function Publish({ skill }: { skill: Skill }) {
  const rest = useRest();
  const notify = useNotify();
  const keep = useKeepSkill();
  const [asked, setAsked] = useState(false);
  const publish = useMutation({
    mutationFn: () => rest.publishSkill(skill.id, { version: skill.draft.version }),
    onSuccess({ version }) {
      keep({ ...skill, latest: version });
      notify(`Published version ${version} of ${skill.name}.`, 'success');
    },
    onError(error) {
      keep(skill);
      notify(error.message, 'error');
    },
  });
  return (
    <>
      <Button small look="primary" busy={publish.isPending} onClick={() => setAsked(true)}>
        Publish version {skill.latest + 1}
      </Button>
      <Confirm
        open={asked}
        onOpenChange={setAsked}
        title={`Publish version ${skill.latest + 1} of ${skill.name}?`}
        action="Publish"
        onConfirm={() => publish.mutate()}
      >
        <p>A published version never changes. Projects that use the newest version use it from their next turn on.</p>
      </Confirm>
    </>
  );
}
