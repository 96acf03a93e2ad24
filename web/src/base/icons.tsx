// Icons, inline. Decoration: what they mean is said in words beside them.

import type { ReactNode } from 'react';

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

const icon = (...shapes: string[]) =>
  function Drawn() {
    return (
      <Icon>
        {shapes.map((d) => (
          <path key={d} d={d} />
        ))}
      </Icon>
    );
  };

export const Alert = icon('M12 4 2.8 20h18.4L12 4z', 'M12 10v4', 'M12 17v.01');
export const ArrowDown = icon('M12 5v14', 'm6 13 6 6 6-6');
export const ArrowLeft = icon('M19 12H5', 'm11 6-6 6 6 6');
export const Bars = icon('M4 20h16', 'M7 16v-5', 'M12 16V5', 'M17 16V9');
export const Board = icon('M4 5h4v14H4z', 'M10 5h4v9h-4z', 'M16 5h4v11h-4z');
export const Book = icon('M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3V4z', 'M5 17a3 3 0 0 1 3-3h11');
export const Changes = icon('M12 4v8', 'M8 8h8', 'M8 17h8', 'M5 3h14v18H5z');
export const Chat = icon('M4 5h16v11H9l-5 4V5z');
export const Check = icon('m5 12 5 5 9-10');
export const ChevronDown = icon('m6 9 6 6 6-6');
export const ChevronRight = icon('m9 6 6 6-6 6');
export const Close = icon('M6 6l12 12', 'M18 6 6 18');
export const External = icon('M14 4h6v6', 'M20 4l-9 9', 'M18 14v6H4V6h6');
export const Info = icon('M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M12 11v5', 'M12 8v.01');
export const Moon = icon('M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z');
export const More = icon('M5 12h.01', 'M12 12h.01', 'M19 12h.01');
export const Pencil = icon('M4 20h4L19 9l-4-4L4 16v4z');
export const Person = icon('M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M4.5 20a7.5 7.5 0 0 1 15 0');
export const Plus = icon('M12 5v14', 'M5 12h14');
export const Retry = icon('M20 11a8 8 0 1 0-2.3 6.3', 'M20 4v7h-7');
export const Run = icon('M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M10 8.5v7l5.5-3.5z');
export const Search = icon('M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z', 'm16 16 4.5 4.5');
export const Send = icon('M12 19V5', 'm6 11 6-6 6 6');
export const Skill = icon('M12 3l2.6 5.6 6 .8-4.4 4.2 1.1 6L12 16.7 6.7 19.6l1.1-6-4.4-4.2 6-.8z');
export const Stop = icon('M7 7h10v10H7z');
export const Sun = icon(
  'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  'M12 2v2',
  'M12 20v2',
  'M2 12h2',
  'M20 12h2',
  'm5 5 1.4 1.4',
  'm17.6 17.6 1.4 1.4',
  'm5 19 1.4-1.4',
  'm17.6 6.4 1.4-1.4',
);
export const Tool = icon('M14 6a4 4 0 0 1 5-3l-3 3 2 2 3-3a4 4 0 0 1-5 5L8 18l-3-3 8-8a4 4 0 0 1 1-1z');
export const Tree = icon('M6 4v13h6', 'M6 10h6', 'M15 8h5v4h-5z', 'M15 15h5v4h-5z');
