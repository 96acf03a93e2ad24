// Dialogs, on Radix. Its overlay is not used: it would add a style element, which the page's policy refuses.

import { AlertDialog as RadixAlert, Dialog as RadixDialog } from 'radix-ui';
import type { ReactNode } from 'react';
import { Button, IconButton } from './button.tsx';
import { Close } from './icons.tsx';

export interface DialogProps {
  open: boolean;
  onOpenChange(open: boolean): void;
  title: string;
  /** One line under the title. */
  description?: ReactNode;
  children: ReactNode;
  /** Buttons at its foot. */
  footer?: ReactNode;
  wide?: boolean;
}

export function Dialog({ open, onOpenChange, title, description, children, footer, wide }: DialogProps) {
  const described = description ? {} : { 'aria-describedby': undefined };
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <div className="dialog-backdrop" />
        <RadixDialog.Content className={wide ? 'dialog dialog-wide' : 'dialog'} {...described}>
          <header className="dialog-head">
            <RadixDialog.Title>{title}</RadixDialog.Title>
            <RadixDialog.Close asChild>
              <IconButton label="Close" icon={<Close />} />
            </RadixDialog.Close>
          </header>
          {description && <RadixDialog.Description className="muted">{description}</RadixDialog.Description>}
          <div className="dialog-body">{children}</div>
          {footer && <footer className="dialog-foot">{footer}</footer>}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

export interface ConfirmProps {
  open: boolean;
  onOpenChange(open: boolean): void;
  title: string;
  children: ReactNode;
  /** What the button says: a verb. */
  action: string;
  danger?: boolean;
  onConfirm(): void;
}

/** Asks before something that can't be taken back. */
export function Confirm({ open, onOpenChange, title, children, action, danger, onConfirm }: ConfirmProps) {
  return (
    <RadixAlert.Root open={open} onOpenChange={onOpenChange}>
      <RadixAlert.Portal>
        <div className="dialog-backdrop" />
        <RadixAlert.Content className="dialog" aria-modal="true">
          <RadixAlert.Title>{title}</RadixAlert.Title>
          <RadixAlert.Description asChild>
            <div className="dialog-body">{children}</div>
          </RadixAlert.Description>
          <footer className="dialog-foot">
            <RadixAlert.Cancel asChild>
              <Button>Cancel</Button>
            </RadixAlert.Cancel>
            <RadixAlert.Action asChild>
              <Button look={danger ? 'danger' : 'primary'} onClick={onConfirm}>
                {action}
              </Button>
            </RadixAlert.Action>
          </footer>
        </RadixAlert.Content>
      </RadixAlert.Portal>
    </RadixAlert.Root>
  );
}
