import type { ComponentProps, MouseEvent } from "react";
import { Button } from "../ui/Button";
import { useCard } from "./card";

type Props = Omit<ComponentProps<typeof Button>, "onClick"> & {
  onDecide: (event: MouseEvent<HTMLButtonElement>) => void;
};

/** A button that decides: it does nothing while the card has only just appeared, or while something is on its way. */
export function Decide({ onDecide, disabled, ...props }: Props) {
  const { inert, answering } = useCard();
  const rests = inert.inert || answering.phase.at === "sending";
  return (
    <Button
      look="solid"
      {...props}
      disabled={disabled}
      aria-disabled={rests || undefined}
      data-decide=""
      onClick={(event) => {
        if (!inert.isInert()) onDecide(event);
      }}
    />
  );
}
