// What the signed-in person may do in the project that the address names.

import { useMemo } from 'react';
import { useMe } from './client.tsx';
import { useProject } from './project.ts';
import { mayIn, type May } from './rights.ts';

export function useMay(): May {
  const { bindings, projects } = useMe();
  const project = useProject();
  return useMemo(() => mayIn(project, projects, bindings), [project, projects, bindings]);
}
