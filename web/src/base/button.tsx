// Buttons: one that says what it does, one that shows an icon and says it to who can't see it.

import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { classes } from './classes.ts';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: 'primary' | 'plain' | 'quiet' | 'danger';
  small?: boolean;
  /** Works on it: not pressable again, and said so. */
  busy?: boolean;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = 'plain', small, busy, icon, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes('button', `button-${look}`, small && 'button-small', className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {icon}
      {children}
      {busy && ' …'}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'busy'> {
  /** Its name, read out and shown on hovering. */
  label: string;
}

export function IconButton({ label, look = 'quiet', icon, className, ...rest }: IconButtonProps) {
  return (
    <Button {...rest} look={look} className={classes('button-icon', className)} aria-label={label} title={label}>
      {icon}
    </Button>
  );
}
