// What the views of skills read, and who may write them.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { pages, type Skill, type SkillSummary, type SkillVersionSummary } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { collected } from '../data/collected.ts';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { useMay } from '../data/may.ts';
import type { May } from '../data/rights.ts';

/** All that the person may read, newest first. */
export function useSkills() {
  const rest = useRest();
  return useQuery({
    queryKey: keys.skills,
    queryFn: (): Promise<SkillSummary[]> => collected(pages((page) => rest.skills({ ...page, limit: 500 }))),
  });
}

export function useUsedSkills() {
  const rest = useRest();
  const { key } = useProject();
  return useQuery({
    queryKey: keys.usedSkills(key),
    queryFn: () => collected(pages((page) => rest.projectSkills(key, page))),
  });
}

export function usePins() {
  const rest = useRest();
  const { key } = useProject();
  return useQuery({
    queryKey: keys.skillPins(key),
    queryFn: () => collected(pages((page) => rest.skillPins(key, page))),
  });
}

export function useSkill(id: string) {
  const rest = useRest();
  return useQuery({ queryKey: keys.skill(id), queryFn: () => rest.skill(id) });
}

/** Newest first. */
export function useSkillVersions(id: string) {
  const rest = useRest();
  return useQuery({
    queryKey: keys.skillVersions(id),
    queryFn: (): Promise<SkillVersionSummary[]> =>
      collected(
        pages(({ after }) => rest.skillVersions(id, { limit: 500, ...(after ? { after: Number(after) } : {}) })),
      ),
  });
}

/** A version never changes. `version` 0: none. */
export function useSkillVersion(id: string, version: number) {
  const rest = useRest();
  return useQuery({
    queryKey: keys.skillVersion(id, version),
    queryFn: () => rest.skillVersion(id, version),
    staleTime: Infinity,
    enabled: version > 0,
  });
}

/** Shows a written skill at once, and reads anew what it changed. */
export function useKeepSkill(): (skill: Skill) => void {
  const queries = useQueryClient();
  return (skill) => {
    queries.setQueryData(keys.skill(skill.id), skill);
    void queries.invalidateQueries({ queryKey: keys.allSkills });
  };
}

/** Whether one may change a skill: at the level where it is. */
export function useMayWrite(): (skill: Pick<Skill, 'scope' | 'project' | 'organization'>) => boolean {
  const may: May = useMay();
  const here = useProject();
  return ({ scope, project, organization }) =>
    may('skill.write', scope) &&
    (project === undefined || project === here.key) &&
    (organization === undefined || organization === here.organization);
}
