"""The game of Wordle, and what a player's words are worth. Run it to see it judged: python3 wordle.py"""

import re

# Five-letter words that are common and have no accent; the game needs no more to be learnt.
WORDS = """about above actor agree alarm album alert alien alive allow alone along among anger angle apple apply arena
argue arise array aside asset audio avoid award aware badly basic beach began begin being below bench birth black blame blind block
blood board boost bound brain brand bread break breed brief bring broad brown build buyer cable carry catch cause chain chair chart
chase cheap check chest chief child chose civil claim class clean clear click clock close coach coast could count court cover craft
crash cream crime cross crowd crown curve cycle daily dance death delay depth doubt draft drama dream dress drink drive early earth
eight elite empty enemy enjoy enter entry equal error event every exact exist extra faith false fault field fifth fifty fight final
first fixed flash fleet floor fluid focus force frame fresh front fruit fully funny giant given glass globe going grace grade grand
grant grass great green gross group grown guard guess guest guide happy heart heavy hence horse hotel house human ideal image index
inner input issue joint judge known label large laser later laugh layer learn lease least leave legal level light limit local logic
loose lower lucky lunch major maker march match maybe mayor meant media metal might minor mixed model money month moral motor mount
mouse mouth movie music needs nerve never newly night noise north noted novel nurse occur ocean offer often order other ought paint
panel paper party peace phase phone photo piece pilot pitch place plain plane plant plate point pound power press price pride prime
print prior prize proof proud prove queen quick quiet quite radio raise range rapid ratio reach ready refer right rival river rough
round route royal rural scale scene scope score sense serve seven shall shape share sharp sheet shelf shell shift shirt shock shoot
short shown sight since sixth sixty skill sleep slide small smart smile smoke solid solve sorry sound south space spare speak speed
spend spent split spoke sport staff stage stake stand start state steam steel stick still stock stone store storm story strip stuck
study stuff style sugar suite super sweet table taken taste teach thank theme there thick thing think third those three throw tight
title today topic total touch tough tower track trade train treat trend trial trust truth twice under union unity until upper upset
urban usage usual valid value video virus visit vital voice waste watch water wheel where which while white whole whose woman world
worry worse worst worth would wound write wrong young youth""".split()

GUESS = re.compile(r"<guess>\s*([A-Za-z]{5})\s*</guess>")


def judge(secret, guess):
    """One letter for each place: G right, Y elsewhere in the word, X not in it (or not so often)."""
    marks = ["G" if s == g else "X" for s, g in zip(secret, guess)]
    left = [s for s, g in zip(secret, guess) if s != g]
    for place, letter in enumerate(guess):
        if marks[place] == "X" and letter in left:
            marks[place] = "Y"
            left.remove(letter)
    return "".join(marks)


def fits(guess, answers):
    """Whether a guess could still be the secret after these (earlier guess, marks)."""
    return all(judge(guess, earlier) == marks for earlier, marks in answers)


def prompt(answers):
    lines = ["You play Wordle: find a secret English word of five letters. G is a letter in its place, Y one that is elsewhere in the",
             "word, X one that is not in it. Answer with your next guess as <guess>word</guess>."]
    lines += [f"{earlier}: {marks}" for earlier, marks in answers] or ["No guess yet."]
    return "\n".join(lines)


def reward(completion, secret, answers):
    """1 for the secret; else 0.1 a green and 0.05 a yellow letter, 0.2 for keeping to earlier answers; -0.2 for no guess, and a
    guess that is repeated earns nothing."""
    found = GUESS.findall(completion)
    if not found:
        return -0.2
    guess = found[-1].lower()
    if guess == secret:
        return 1.0
    if any(guess == earlier for earlier, _ in answers):
        return 0.0
    marks = judge(secret, guess)
    return 0.1 * marks.count("G") + 0.05 * marks.count("Y") + (0.2 if fits(guess, answers) else 0.0)


def positions(count, draw):
    """Places in games: a secret and up to four earlier guesses, each a word that still fitted."""
    for _ in range(count):
        secret, answers = draw.choice(WORDS), []
        for _ in range(draw.randrange(5)):
            guess = draw.choice([word for word in WORDS if word != secret and fits(word, answers)] or WORDS)
            answers.append((guess, judge(secret, guess)))
        yield secret, answers


def main():
    assert judge("apple", "paper") == "YYGYX", judge("apple", "paper")
    assert judge("speed", "eerie") == "YYXXX", judge("speed", "eerie")  # two of three e are in the word
    assert fits("speed", [("eerie", "YYXXX")]) and not fits("crown", [("eerie", "YYXXX")])
    assert reward("<guess>crown</guess>", "crown", []) == 1.0 and reward("crown", "crown", []) == -0.2
    assert reward("<guess>crowd</guess>", "crown", [("crowd", "GGGGX")]) == 0.0
    print(f"{len(WORDS)} words; the game judges as it should")


if __name__ == "__main__":
    main()
