export const unitsPerCredit = 100

export const convertCreditsToUnits = (credits: number): number => Math.round(credits * unitsPerCredit)
export const convertUnitsToCredits = (units: number): number => units / unitsPerCredit
