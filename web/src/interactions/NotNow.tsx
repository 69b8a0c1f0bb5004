import { useState } from "react";
import type { Interaction } from "../api/generated";
import { useNow } from "../session/now";
import { isPutOff, laters } from "../session/snooze";
import { clock } from "../text/time";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Key } from "../ui/Kbd";

interface Props {
  ask: Interaction;
  /** Without a time: for an hour. */
  onNotNow: (until?: Date) => void;
  onTakeUp: (() => void) | undefined;
}

/** Puts an ask off, on all of a person's screens, or brings it back. Nothing is decided. */
export function NotNow({ ask, onNotNow, onTakeUp }: Props) {
  const now = useNow();
  const [isOpen, setOpen] = useState(false);
  if (isPutOff(ask, now)) {
    return (
      <span className="flex items-center gap-1">
        Put off until {clock(ask.snoozedUntil ?? "")}
        {ask.snoozedBy && ` by ${visible(ask.snoozedBy)}`}
        {onTakeUp && (
          <Button look="quiet" size="small" onClick={onTakeUp}>
            Bring back
          </Button>
        )}
      </span>
    );
  }
  return (
    <span className="relative flex items-center">
      <Button look="quiet" size="small" onClick={() => onNotNow()} title="Put it off for an hour. Nothing is decided.">
        Not now <Key>N</Key>
      </Button>
      <Button
        look="quiet"
        size="small"
        className="px-1"
        aria-label="Put off for longer"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="down" />
      </Button>
      {isOpen && (
        <ul className="tag absolute top-full right-0 z-10 border border-line-2 bg-surface py-1 shadow-lg">
          {laters(new Date()).map(({ words, until }) => (
            <li key={words}>
              <Button
                look="quiet"
                size="small"
                className="w-full justify-start"
                onClick={() => {
                  setOpen(false);
                  onNotNow(until);
                }}
              >
                {words}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
