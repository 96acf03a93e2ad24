// Finds items and skills from anywhere: the button in the head, or "/".

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { Link, useLocation } from 'wouter';
import type { SearchHit } from '../../../client/index.ts';
import { Button } from '../base/button.tsx';
import { Dialog } from '../base/dialog.tsx';
import * as icons from '../base/icons.tsx';
import { Notice } from '../base/notice.tsx';
import { useSettled } from '../base/use-settled.ts';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { paths } from '../paths.ts';
import { counted } from '../plan/words.ts';
import { useUsedSkills } from '../skills/data.ts';

const settledMs = 200;

export function Search() {
  const [open, setOpen] = useState(false);
  useSlash(() => setOpen(true));
  return (
    <>
      <Button className="search-button" icon={<icons.Search />} aria-keyshortcuts="/" onClick={() => setOpen(true)}>
        <span className="search-button-text">Search</span>
        <kbd aria-hidden="true">/</kbd>
      </Button>
      {open && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const taken = 'input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu]';

/** "/" where nobody types and no dialog is open. */
function useSlash(act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      if (target instanceof Element && target.closest(taken)) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

function useHits(q: string) {
  const rest = useRest();
  const project = useProject();
  const query = { q, project: project.key, limit: 20 };
  return useQuery({
    queryKey: keys.found(project.key, query),
    queryFn: () => rest.search(query),
    enabled: q !== '',
    placeholderData: keepPreviousData,
  });
}

function SearchDialog({ onClose }: { onClose(): void }) {
  const project = useProject();
  const [, navigate] = useLocation();
  const [words, setWords] = useState('');
  const asked = useSettled(words.trim(), settledMs);
  const found = useHits(asked);
  const place = useRef<HTMLDivElement>(null);
  const addressOf = useAddresses();
  const hits = asked === '' ? [] : (found.data?.items ?? []);
  const [first] = hits;
  const query = asked && `?q=${encodeURIComponent(asked)}`;
  const settled = asked === words.trim() && !found.isPlaceholderData && found.isSuccess;

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const stops = [...(place.current?.querySelectorAll<HTMLElement>('input, a') ?? [])];
    const at = stops.findIndex((each) => each === document.activeElement);
    event.preventDefault();
    stops[(at + (event.key === 'ArrowDown' ? 1 : -1) + stops.length) % stops.length]?.focus();
  };
  return (
    <Dialog open wide onOpenChange={(open) => !open && onClose()} title={`Search ${project.key}`}>
      <div className="search" ref={place} onKeyDown={onKeyDown}>
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (!first || !settled) return;
            onClose();
            navigate(addressOf(first));
          }}
        >
          <input
            type="search"
            aria-label="Items and skills, by words or by meaning"
            placeholder="Items and skills, by words or by meaning"
            maxLength={1_000}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </form>
        {asked !== '' && found.error && <Notice tone="error">{found.error.message}</Notice>}
        {asked !== '' && found.data?.warning && <Notice tone="warning">{found.data.warning}</Notice>}
        {hits.length > 0 && (
          <ul className="plain-list hits" aria-label="Found">
            {hits.map((hit) => (
              <li key={`${hit.kind} ${hit.ref}`}>
                <Link href={addressOf(hit)} onClick={onClose}>
                  <span className="hit-title">
                    {hit.kind === 'item' ? <span className="key">{hit.ref}</span> : <icons.Skill />}
                    {hit.title}
                    {hit.kind === 'skill' && <span className="badge">Skill</span>}
                  </span>
                  {hit.snippet && <span className="small muted rows-snippet">{hit.snippet}</span>}
                </Link>
              </li>
            ))}
          </ul>
        )}
        <p className="small muted" role="status">
          {asked === ''
            ? 'Say what you look for. ↓ leads to what is found, Enter opens the first.'
            : !settled
              ? found.error
                ? ''
                : 'Searching …'
              : hits.length === 0
                ? 'Nothing is found. Say it with other words.'
                : `${counted(hits.length, 'hit')}`}
        </p>
        <Link className="small" href={paths.knowledge(project.key) + query} onClick={onClose}>
          Search the knowledge instead
        </Link>
      </div>
    </Dialog>
  );
}

/** A skill is found by its name; its view has its id. */
function useAddresses(): (hit: SearchHit) => string {
  const project = useProject();
  const used = useUsedSkills();
  return ({ kind, ref }) => {
    if (kind === 'item') return paths.item(ref);
    const id = used.data?.find(({ name }) => name === ref)?.id;
    return id ? paths.skill(project.key, id) : paths.skills(project.key);
  };
}
