import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode, RefObject } from "react";
import { Button } from "./Button";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** What is typed into first. */
  focus?: RefObject<HTMLElement | null>;
}

/** A sheet over the page. Esc and a press beside it close it and decide nothing. */
export function Dialog({ title, open, onClose, children, wide = false, focus }: Props) {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-10 bg-black/40" />
        <Base.Popup
          initialFocus={focus}
          className={`enter fixed inset-x-0 top-[8dvh] z-20 mx-auto flex max-h-[84dvh] w-[calc(100%-32px)] flex-col border-y border-r border-y-line border-r-line bg-surface railed max-wide:inset-0 max-wide:top-0 max-wide:max-h-dvh max-wide:w-full max-wide:rounded-none max-wide:border-0 ${wide ? "max-w-[880px]" : "max-w-[480px]"}`}
        >
          <header className="flex items-center gap-2 px-4 pt-3 pb-2">
            <Base.Title className="min-w-0 flex-1 text-base font-semibold">{title}</Base.Title>
            <Base.Close render={<Button look="quiet" size="small" aria-label="Close" />}>✕</Base.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-4 pb-[max(16px,env(safe-area-inset-bottom))]">
            {children}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
