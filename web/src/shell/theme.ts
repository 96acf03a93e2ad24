// Light, dark, or as the system says; kept for this browser.

export type Theme = 'system' | 'light' | 'dark';

const place = 'planner.theme';

export function readTheme(): Theme {
  const kept = localStorage.getItem(place);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') {
    localStorage.removeItem(place);
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem(place, theme);
    document.documentElement.dataset['theme'] = theme;
  }
}
