// Menus, on Radix. Not modal: a modal one would add a style element, which the page's policy refuses.

import { DropdownMenu } from 'radix-ui';
import { createContext, useContext, useRef, type ReactElement, type ReactNode } from 'react';
import { Check } from './icons.tsx';

export interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement;
  children: ReactNode;
  align?: 'start' | 'end';
  side?: 'top' | 'bottom';
}

type Action = () => void;

const ChosenContext = createContext<{ current: Action | undefined }>({ current: undefined });

/** `<Menu trigger={<IconButton .../>}><MenuItem onSelect={...}>Rename</MenuItem></Menu>` */
export function Menu({ trigger, children, align = 'start', side = 'bottom' }: MenuProps) {
  const chosen = useRef<Action>(undefined);
  // What was chosen happens once the focus is back on the trigger: a dialog gives it back there when it closes.
  const act = (): void => {
    const action = chosen.current;
    chosen.current = undefined;
    if (action) queueMicrotask(action);
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className="menu"
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={act}
        >
          <ChosenContext value={chosen}>{children}</ChosenContext>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export interface MenuItemProps {
  onSelect(): void;
  disabled?: boolean;
  danger?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, disabled, danger, children }: MenuItemProps) {
  const chosen = useContext(ChosenContext);
  return (
    <DropdownMenu.Item
      className={danger ? 'menu-item menu-item-danger' : 'menu-item'}
      disabled={disabled ?? false}
      onSelect={() => {
        chosen.current = onSelect;
      }}
    >
      {children}
    </DropdownMenu.Item>
  );
}

export interface MenuChoiceProps {
  value: string;
  onChange(value: string): void;
  options: readonly { value: string; label: ReactNode }[];
}

/** One of several. */
export function MenuChoice({ value, onChange, options }: MenuChoiceProps) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChange}>
      {options.map((option) => (
        <DropdownMenu.RadioItem key={option.value} value={option.value} className="menu-item">
          <span className="menu-mark">
            <DropdownMenu.ItemIndicator>
              <Check />
            </DropdownMenu.ItemIndicator>
          </span>
          {option.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className="menu-label">{children}</DropdownMenu.Label>
);

export const MenuSeparator = () => <DropdownMenu.Separator className="menu-separator" />;
