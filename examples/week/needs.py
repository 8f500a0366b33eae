"""What guests want to know, and how they put it: first in one way, and in another if that did not help."""

NEEDS = {  # by the question of examples/hotel that asks for the same
    "q051": ("breakfast price for kids", "what does breakfast cost for a family at the weekend"),
    "q067": ("how do I get online in my room at Gate", "wifi code airport hotel"),
    "q009": ("early check in", "can I have my room in the morning, and what does it cost"),
    "q011": ("late check out price", "how do I stay in the room until the afternoon"),
    "q042": ("pool hours for teenagers", "until when may under 16s swim at the Quay"),
    "q024": ("dogs allowed", "which hotels take dogs and what is the charge"),
    "q049": ("massage when pregnant", "book a spa treatment for somebody who is pregnant"),
    "q061": ("shuttle from airport at night", "last bus from the terminal to the Gate hotel"),
    "q017": ("deposit on my card", "why is money blocked on my card at check in"),
    "q088": ("leave luggage after check out", "price for keeping suitcases until tomorrow"),
    "q047": ("does the Grand have a pool", "can Grand guests swim at the Quay"),
    "q085": ("how long do you keep lost property", "I forgot my watch, until when do you keep it"),
    "q001": ("free cancellation deadline", "last day to cancel a flexible rate without paying"),
    "q074": ("when must it be quiet at night", "noise rules in the corridors after ten"),
    "q101": ("fresh towels", "how do I ask for new towels"),
    "q070": ("too many devices on wifi", "the network says limit reached, how do I remove old devices"),
    "q124": ("room too hot air conditioning", "lowest temperature that I can set in the room"),
    "q034": ("deluxe room with balcony", "at which hotels does a deluxe room have a balcony"),
    "q060": ("charge electric car", "which hotels have chargers for electric cars"),
    "q052": ("nut allergy at dinner", "how do I tell the restaurant about an allergy"),
    "q018": ("deposit not returned", "when do I get the blocked money back on my debit card"),
    "q022": ("invoice for my company", "can I get a bill with our company name and VAT number"),
    "q095": ("do my points expire", "how long are loyalty points valid"),
    "q048": ("how do I get into the fitness room early in the morning", "gym opening hours Grand"),
    "q086": ("send forgotten jumper abroad", "postage for lost property to Norway"),
    "q103": ("bites in the bed", "I think there are bed bugs in my room"),
    "q100": ("room not cleaned", "how often is a room cleaned"),
    "q110": ("what do I get if you are full in spite of my booking", "hotel overbooked where do I sleep"),
    "q040": ("family room four people", "can two adults and two children share a room at the airport"),
    "q014": ("check in at 17", "may a seventeen year old stay alone"),
}

UNANSWERED = (  # no document says anything about them, and neither does the golden set
    ("rent a bicycle", "where can I hire bikes"),
    ("casino nearby", "is there a casino in the hotel"),
    ("golf course tee times", "can I book golf"),
    ("exchange currency", "do you change dollars at the desk"),
)

PRIVATE = (  # what people should not type, and type all the same
    ("send the bill to ann.lee@example.org please",),
    ("call me back on +44 20 7946 0958 about my booking",),
    ("my card 4111 1111 1111 1111 was charged twice",),
)
