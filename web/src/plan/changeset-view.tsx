// A changeset: reviewed operation by operation while it is proposed, shown with its results afterwards.

import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, Redirect } from 'wouter';
import type { Changeset } from '../../../client/index.ts';
import { ArrowLeft } from '../base/icons.tsx';
import { Markdown } from '../base/markdown.tsx';
import { Time } from '../base/time.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { View } from '../shell/view.tsx';
import { StatusBadge } from './changeset-list.tsx';
import { useItems } from './data.ts';
import { OperationCard } from './operation.tsx';
import { ItemLink, Reading, Who } from './pieces.tsx';
import { Review } from './review.tsx';
import { counted } from './words.ts';

export function ChangesetView({ id }: { id: string }) {
  const rest = useRest();
  const project = useProject();
  const query = useQuery({ queryKey: keys.changeset(id), queryFn: () => rest.changeset(id) });
  const back = (
    <Link className="back" href={paths.changesets(project.key)} aria-label="All changesets" title="All changesets">
      <ArrowLeft />
    </Link>
  );
  if (query.data && query.data.project !== project.key) {
    return <Redirect to={paths.changeset(query.data.project, id)} replace />;
  }
  return (
    <View
      title={query.data?.title ?? 'Changeset'}
      above={back}
      actions={query.data && <StatusBadge status={query.data.status} />}
    >
      <Reading of={query} what="the changeset">
        {(changeset) => <Content changeset={changeset} key={changeset.id} />}
      </Reading>
    </View>
  );
}

function Content({ changeset }: { changeset: Changeset }) {
  const { project, proposed_by, created_at, status } = changeset;
  const [reviewed] = useState(status === 'proposed');
  return (
    <>
      <p className="muted small">
        Proposed by <Who actor={proposed_by} project={project} /> at <Time at={created_at} />
      </p>
      {changeset.summary !== '' && (
        <div className="measure">
          <Markdown text={changeset.summary} />
        </div>
      )}
      {status === 'proposed' ? <Review changeset={changeset} /> : <Outcome changeset={changeset} fresh={reviewed} />}
    </>
  );
}

/** Fresh: it takes the review's place, and the focus. */
function Outcome({ changeset, fresh }: { changeset: Changeset; fresh: boolean }) {
  const { byKey } = useItems();
  const { status, operations, results = [], approved = [], decided_by, decided_at, project } = changeset;
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (fresh) place.current?.focus();
  }, [fresh]);
  return (
    <>
      <p className={status === 'applied' ? 'outcome outcome-applied' : 'outcome'} ref={place} tabIndex={-1}>
        <strong>
          {status === 'applied'
            ? `${approved.length} of ${counted(operations.length, 'operation')} applied`
            : 'Rejected: the plan was not changed'}
        </strong>
        {decided_by && decided_at && (
          <span>
            by <Who actor={decided_by} project={project} /> at <Time at={decided_at} />
          </span>
        )}
      </p>
      <ol className="plain-list operations">
        {operations.map((operation, index) => (
          <OperationCard
            key={index}
            changeset={changeset}
            index={index}
            items={byKey}
            dimmed={!approved.includes(index)}
            control={() =>
              approved.includes(index) ? (
                <Result verb={done[operation.kind]} itemKey={results[index]?.key} />
              ) : (
                <span className="badge">Not applied</span>
              )
            }
          />
        ))}
      </ol>
    </>
  );
}

const done = { create_item: 'Created', update_item: 'Changed', add_dependency: 'Added' } as const;

/** A changed item is linked in the operation's own words. */
function Result({ verb, itemKey }: { verb: string; itemKey: string | undefined }) {
  return (
    <span className="operation-result">
      <span className="badge badge-good">{verb}</span>
      {itemKey && verb === 'Created' && <ItemLink item={{ key: itemKey, title: '' }} />}
    </span>
  );
}
