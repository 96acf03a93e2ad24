// The model that answers in the project.

import { useQuery } from '@tanstack/react-query';
import { projectModel, type Me } from '../../../client/index.ts';
import { useMe, useRest } from './client.tsx';
import { keys } from './keys.ts';
import { useProject } from './project.ts';

/** Undefined until it is known. */
export function useModel(): Me['model'] | undefined {
  const rest = useRest();
  const me = useMe();
  const { key } = useProject();
  const { data } = useQuery({ queryKey: keys.project(key), queryFn: () => rest.project(key) });
  return data && projectModel(me, data);
}
