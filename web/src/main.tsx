// The page's beginning.

import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { takeTokenFromAddress } from './auth/sign-in-state.ts';
import { applyTheme, readTheme } from './shell/theme.ts';

takeTokenFromAddress();
addEventListener('hashchange', takeTokenFromAddress);
applyTheme(readTheme());

const place = document.getElementById('page');
if (place) createRoot(place).render(<App />);
