// The project that the address names.

import { createContext, useContext } from 'react';
import type { Project } from '../../../client/index.ts';

export const ProjectContext = createContext<Project | undefined>(undefined);

export function useProject(): Project {
  const project = useContext(ProjectContext);
  if (!project) throw new Error('Outside of a project.');
  return project;
}
