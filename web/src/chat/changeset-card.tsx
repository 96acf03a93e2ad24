// A changeset that a turn proposed: what it is, where it stands, the way to its review.

import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { Changes } from '../base/icons.tsx';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';

const words = {
  proposed: { tone: 'accent', text: 'not applied yet' },
  applied: { tone: 'good', text: 'applied' },
  rejected: { tone: 'plain', text: 'rejected' },
} as const;

export function ChangesetCard({ id, title }: { id: string; title: string }) {
  const rest = useRest();
  const project = useProject();
  const { data } = useQuery({ queryKey: keys.changeset(id), queryFn: () => rest.changeset(id) });
  const state = data && words[data.status];
  const count = data?.operations.length;
  return (
    <article className="changeset-card card">
      <Changes />
      <div className="changeset-card-text">
        <h3>{data?.title ?? title}</h3>
        <p className="row small muted">
          {count !== undefined && <span>{count === 1 ? '1 operation' : `${count} operations`}</span>}
          {state && <span className={`badge badge-${state.tone}`}>{state.text}</span>}
        </p>
      </div>
      <Link
        className={data && data.status !== 'proposed' ? 'button' : 'button button-primary'}
        href={paths.changeset(project.key, id)}
      >
        {data && data.status !== 'proposed' ? 'Show' : 'Review'}
        <span className="visually-hidden"> changeset {data?.title ?? title}</span>
      </Link>
    </article>
  );
}
