// Markdown of models and people, as elements: no HTML, no images, links to the web and to mail only.

import { memo, useMemo } from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { markdownBlocks } from './markdown-blocks.ts';
import { safeAddress } from './safe-address.ts';

const plugins: Options['remarkPlugins'] = [remarkGfm];

const components: Components = {
  a: ({ href, children }) => (href ? <Outward address={href}>{children}</Outward> : <span>{children}</span>),
  // An image would tell its server who reads this: it is shown as a link.
  img: ({ src, alt }) =>
    typeof src === 'string' && src !== '' ? (
      <Outward address={src}>{alt || src}</Outward>
    ) : (
      <span>{alt || 'image'}</span>
    ),
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => (
    <pre tabIndex={0} aria-label="Code">
      {children}
    </pre>
  ),
  input: ({ checked }) => <span aria-label={checked ? 'done' : 'open'}>{checked ? '☑' : '☐'}</span>,
};

function Outward({ address, children }: { address: string; children?: React.ReactNode }) {
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeAddress}>
      {text}
    </ReactMarkdown>
  );
});

export interface MarkdownProps {
  text: string;
  /** It still grows: only its last block is parsed again at each change. */
  streaming?: boolean;
}

export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  const blocks = useMemo(() => (streaming ? markdownBlocks(text) : [text]), [text, streaming]);
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
});
