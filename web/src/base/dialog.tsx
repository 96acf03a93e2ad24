// Dialogs, on Radix. Its overlay is not used: it would add a style element, which the page's policy refuses.

import { AlertDialog as RadixAlert, Dialog as RadixDialog } from 'radix-ui';
import { useRef, type ReactNode } from 'react';
import { Button, IconButton } from './button.tsx';
import { Close } from './icons.tsx';

/** Into the first field where there is one; at the end back to where it was: Radix does so for triggers of its own only. */
function useFocus() {
  const before = useRef<Element>(null);
  return {
    onOpenAutoFocus(event: Event): void {
      before.current = document.activeElement;
      const content = event.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
      const field = content?.querySelector<HTMLInputElement>('.dialog-body :is(input, textarea, select)');
      if (!field) return;
      event.preventDefault();
      field.focus();
    },
    onCloseAutoFocus(): void {
      if (before.current instanceof HTMLElement) before.current.focus();
    },
  };
}

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
  const focus = useFocus();
  const described = description ? {} : { 'aria-describedby': undefined };
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <div className="dialog-backdrop" />
        <RadixDialog.Content className={wide ? 'dialog dialog-wide' : 'dialog'} aria-modal="true" {...described} {...focus}>
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
  const focus = useFocus();
  return (
    <RadixAlert.Root open={open} onOpenChange={onOpenChange}>
      <RadixAlert.Portal>
        <div className="dialog-backdrop" />
        <RadixAlert.Content className="dialog" aria-modal="true" {...focus}>
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
